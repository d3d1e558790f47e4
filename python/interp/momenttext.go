package interp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/regex"
)

// clockText returns hours, minutes and seconds, with microseconds if there are any.
func clockText(micros int) string {
	seconds := micros / microsPerSecond
	text := fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	if rest := micros % microsPerSecond; rest != 0 {
		text += fmt.Sprintf(".%06d", rest)
	}
	return text
}

// offsetText returns an offset as +HH:MM, with seconds if there are any.
func offsetText(offset int, separator string) string {
	sign := "+"
	if offset < 0 {
		sign, offset = "-", -offset
	}
	seconds := offset / microsPerSecond
	text := fmt.Sprintf("%s%02d%s%02d", sign, seconds/3600, separator, seconds/60%60)
	if rest := offset % (60 * microsPerSecond); rest != 0 {
		text += fmt.Sprintf("%s%02d", separator, seconds%60)
		if micros := rest % microsPerSecond; micros != 0 {
			text += fmt.Sprintf(".%06d", micros)
		}
	}
	return text
}

func (d *timedelta) str(*machine) string {
	seconds := d.micros / microsPerSecond
	text := fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	if rest := d.micros % microsPerSecond; rest != 0 {
		text += fmt.Sprintf(".%06d", rest)
	}
	switch d.days {
	case 0:
		return text
	case 1, -1:
		return fmt.Sprintf("%d day, %s", d.days, text)
	default:
		return fmt.Sprintf("%d days, %s", d.days, text)
	}
}

func (d *timedelta) repr(*machine) string {
	var parts []string
	for _, part := range []struct {
		name  string
		value int
	}{{"days", d.days}, {"seconds", d.micros / microsPerSecond}, {"microseconds", d.micros % microsPerSecond}} {
		if part.value != 0 {
			parts = append(parts, part.name+"="+strconv.Itoa(part.value))
		}
	}
	if len(parts) == 0 {
		parts = []string{"0"}
	}
	return "datetime.timedelta(" + strings.Join(parts, ", ") + ")"
}

func (z *timezone) str(*machine) string {
	switch {
	case z.label != "":
		return z.label
	case z.offset == 0:
		return "UTC"
	default:
		return "UTC" + offsetText(z.offset, ":")
	}
}

func (z *timezone) repr(m *machine) string {
	switch {
	case z == utc:
		return "datetime.timezone.utc"
	case z.label != "":
		return "datetime.timezone(" + z.delta().repr(m) + ", " + m.repr(z.label) + ")"
	default:
		return "datetime.timezone(" + z.delta().repr(m) + ")"
	}
}

func (t *moment) dateText() string {
	year, month, day := t.civil()
	return fmt.Sprintf("%04d-%02d-%02d", year, month, day)
}

func (t *moment) str(*machine) string { return t.iso(" ", "auto") }

// iso returns the text of isoformat.
func (t *moment) iso(separator, precision string) string {
	var text string
	if t.hasDate() {
		text = t.dateText()
	}
	if !t.hasTime() {
		return text
	}
	if t.hasDate() {
		text += separator
	}
	clock := clockText(t.micros)
	switch precision {
	case "hours":
		clock = clock[:2]
	case "minutes":
		clock = clock[:5]
	case "seconds":
		clock = clock[:8]
	case "milliseconds":
		clock = fmt.Sprintf("%s.%03d", clock[:8], t.micros%microsPerSecond/1000)
	case "microseconds":
		clock = fmt.Sprintf("%s.%06d", clock[:8], t.micros%microsPerSecond)
	}
	text += clock
	if t.zone != nil {
		text += offsetText(t.zone.offset, ":")
	}
	return text
}

func momentISO(a *arguments) any {
	t, _ := a.self.(*moment)
	separator, precision := "T", "auto"
	names := []string{"sep", "timespec"}
	switch t.class {
	case dateClass:
		names = nil
	case timeClass:
		names = names[1:]
	}
	for i, v := range a.bind(0, names...) {
		switch {
		case v == absent:
		case names[i] == "sep":
			if separator = requireString(v, "isoformat() argument 1 must be a unicode character, not %s"); a.length(separator) != 1 {
				panic(raise("TypeError", "isoformat() argument 1 must be a unicode character, not str"))
			}
		default:
			precision = requireString(v, "isoformat() argument must be str, not %s")
		}
	}
	if !slices.Contains([]string{"auto", "hours", "minutes", "seconds", "milliseconds", "microseconds"}, precision) {
		panic(raise("ValueError", "Unknown timespec value"))
	}
	text := t.iso(separator, precision)
	a.alloc(len(text))
	return text
}

func (t *moment) repr(m *machine) string {
	var parts []string
	if t.hasDate() {
		year, month, day := t.civil()
		parts = append(parts, strconv.Itoa(year), strconv.Itoa(month), strconv.Itoa(day))
	}
	if t.hasTime() {
		seconds, rest := t.micros/microsPerSecond, t.micros%microsPerSecond
		parts = append(parts, strconv.Itoa(seconds/3600), strconv.Itoa(seconds/60%60))
		if seconds%60 != 0 || rest != 0 {
			parts = append(parts, strconv.Itoa(seconds%60))
		}
		if rest != 0 {
			parts = append(parts, strconv.Itoa(rest))
		}
		if t.fold != 0 {
			parts = append(parts, "fold=1")
		}
		if t.zone != nil {
			parts = append(parts, "tzinfo="+t.zone.repr(m))
		}
	}
	return t.class.name + "(" + strings.Join(parts, ", ") + ")"
}

// format returns format(t, spec).
func (t *moment) format(m *machine, spec string) string { return m.strftime(t, spec) }

// momentFormat is strftime.
func momentFormat(a *arguments) any {
	t, _ := a.self.(*moment)
	return a.strftime(t, requireString(a.bind(1, "format")[0], "strftime() argument 1 must be str, not %s"))
}

// shortcuts are the directives that stand for others.
var shortcuts = map[byte]string{
	'c': "%a %b %e %H:%M:%S %Y", 'x': "%m/%d/%y", 'X': "%H:%M:%S", 'D': "%m/%d/%y", 'F': "%Y-%m-%d", 'T': "%H:%M:%S", 'R': "%H:%M", 'r': "%I:%M:%S %p",
	'n': "\n", 't': "\t", '%': "%", 'h': "%b",
}

// strftime formats a date and a time as the C library does in its own locale.
func (m *machine) strftime(t *moment, format string) string {
	m.chargeSteps(len(format))
	m.alloc(4 * len(format))
	var out strings.Builder
	for at := 0; at < len(format); at++ {
		if format[at] != '%' || at+1 >= len(format) {
			out.WriteByte(format[at])
			continue
		}
		start := at
		at++
		flag := byte(0)
		if strings.IndexByte("-_0^#", format[at]) >= 0 && at+1 < len(format) {
			flag = format[at]
			at++
		}
		text, ok := m.directive(t, format[at], flag)
		if !ok {
			text = format[start : at+1]
		}
		m.alloc(len(text))
		out.WriteString(text)
	}
	return out.String()
}

// directive returns the text of a directive such as Y. ok is false if it is unknown.
func (m *machine) directive(t *moment, c, flag byte) (text string, ok bool) {
	if long, ok := shortcuts[c]; ok {
		if len(long) == 1 {
			return long, true
		}
		return m.strftime(t, long), true
	}
	day := t.day
	if !t.hasDate() {
		day = ordinal(1900, 1, 1)
	}
	date := time.Date(1, 1, day, 0, 0, 0, 0, time.UTC)
	if number, width, pad, ok := numberOf(date, t.micros, c); ok {
		switch flag {
		case '-':
			return strconv.Itoa(number), true
		case '_':
			pad = ' '
		case '0':
			pad = '0'
		}
		text := strconv.Itoa(number)
		return strings.Repeat(string(pad), max(0, width-len(text))) + text, true
	}
	switch c {
	case 'a':
		text = date.Weekday().String()[:3]
	case 'A':
		text = date.Weekday().String()
	case 'b':
		text = date.Month().String()[:3]
	case 'B':
		text = date.Month().String()
	case 'p', 'P':
		text = "AM"
		if t.micros >= microsPerDay/2 {
			text = "PM"
		}
		if c == 'P' || flag == '#' {
			text = strings.ToLower(text)
		}
	case 's':
		text = strconv.Itoa(m.seconds(&moment{day: day, micros: t.micros}, "strftime"))
	case 'z', 'Z':
		switch {
		case t.zone == nil:
		case c == 'z':
			text = offsetText(t.zone.offset, "")
		default:
			text = t.zone.str(m)
		}
		return text, flag == 0
	default:
		return "", false
	}
	if flag == '^' {
		text = strings.ToUpper(text)
	}
	return text, true
}

// numberOf returns the number that a directive stands for, and how it is padded.
func numberOf(date time.Time, micros int, c byte) (number, width int, pad byte, ok bool) {
	seconds := micros / microsPerSecond
	width, pad = 2, '0'
	isoYear, isoWeek := date.ISOWeek()
	weekday := int(date.Weekday())
	switch c {
	case 'Y':
		number, width = date.Year(), 1
	case 'G':
		number, width = isoYear, 1
	case 'C':
		number = date.Year() / 100
	case 'y':
		number = date.Year() % 100
	case 'g':
		number = isoYear % 100
	case 'm':
		number = int(date.Month())
	case 'd':
		number = date.Day()
	case 'e':
		number, pad = date.Day(), ' '
	case 'H':
		number = seconds / 3600
	case 'k':
		number, pad = seconds/3600, ' '
	case 'I':
		number = (seconds/3600+11)%12 + 1
	case 'l':
		number, pad = (seconds/3600+11)%12+1, ' '
	case 'M':
		number = seconds / 60 % 60
	case 'S':
		number = seconds % 60
	case 'f':
		number, width = micros%microsPerSecond, 6
	case 'j':
		number, width = date.YearDay(), 3
	case 'U':
		number = (date.YearDay() + 6 - weekday) / 7
	case 'W':
		number = (date.YearDay() + 6 - (weekday+6)%7) / 7
	case 'V':
		number = isoWeek
	case 'w':
		number, width = weekday, 1
	case 'u':
		number, width = (weekday+6)%7+1, 1
	default:
		return 0, 0, 0, false
	}
	return number, width, pad, true
}

// isoPattern matches what fromisoformat reads.
var isoPattern = mustCompile(
	`(?:(?P<Y>\d{4})(?:-(?P<m>\d\d)-(?P<d>\d\d)|(?P<m2>\d\d)(?P<d2>\d\d)|-?W(?P<V>\d\d)(?:-?(?P<u>\d))?))?` +
		`(?P<sep>(?:.(?=.)|T)?)` +
		`(?:(?P<H>\d\d)(?:(?P<colon>:)?(?P<M>\d\d)(?:(?(colon):)(?P<S>\d\d)(?:[.,](?P<f>\d+))?)?)?` +
		`(?P<zone>Z|(?P<sign>[-+])(?P<zH>\d\d)(?::?(?P<zM>\d\d)(?::?(?P<zS>\d\d)(?:[.,](?P<zf>\d+))?)?)?)?)?`)

func mustCompile(source string) *regex.Regexp {
	r, err := regex.Compile(source, regex.ASCII|regex.DotAll)
	if err != nil {
		panic(err)
	}
	return r
}

// parts are the numbers in a text by the names of their groups.
type parts struct {
	*regex.Regexp
	text      string
	positions []int
}

func (p parts) get(name string) (text string, ok bool) {
	group, exists := p.Group(name)
	if !exists {
		return "", false
	}
	if from, to := p.positions[2*group], p.positions[2*group+1]; to >= 0 && from >= 0 {
		return p.text[from:to], true
	}
	return "", false
}

func (p parts) number(name string, otherwise int) int {
	text, ok := p.get(name)
	if !ok {
		return otherwise
	}
	n, _ := strconv.Atoi(python.ASCIIDigits(text))
	return n
}

// fraction returns the microseconds of digits after a decimal point.
func (p parts) fraction(name string) int {
	digits, _ := p.get(name)
	n, _ := strconv.Atoi((python.ASCIIDigits(digits) + "000000")[:6])
	return n
}

// fromISO implements fromisoformat of all classes.
func fromISO(a *arguments) any {
	class, _ := a.self.(*class)
	text := requireString(a.one(), "fromisoformat: argument must be str")
	wrong := func() error { return raise("ValueError", "Invalid isoformat string: %s", a.repr(text)) }
	given := text
	if class == timeClass {
		given = strings.TrimPrefix(text, "T")
	}
	positions := isoPattern.Match(given, 0, len(given), regex.Full, true, meter{a.machine})
	if positions == nil || given == "" {
		panic(wrong())
	}
	p := parts{isoPattern, given, positions}
	_, hasDate := p.get("Y")
	_, hasTime := p.get("H")
	separator, _ := p.get("sep")
	if hasDate != (class != timeClass) || class == dateClass && (hasTime || separator != "") || hasDate && hasTime && separator == "" || !hasDate && separator != "" || separator != "" && !hasTime {
		panic(wrong())
	}
	t := &moment{class: class}
	if hasDate {
		t.day = p.day(wrong)
	}
	if hasTime {
		t.micros = timeOfDay(p.number("H", 0), p.number("M", 0), p.number("S", 0), p.fraction("f"))
		t.zone = p.zone(wrong)
	}
	return t
}

// day returns the number of the date.
func (p parts) day(wrong func() error) int {
	year := p.number("Y", 0)
	week := p.number("V", 0)
	if _, ok := p.get("V"); !ok {
		return ordinal(year, p.number("m", p.number("m2", 0)), p.number("d", p.number("d2", 0)))
	}
	weekday := p.number("u", 1)
	fourth := ordinal(year, 1, 4)
	first := fourth - (fourth+6)%7
	day := first + 7*(week-1) + weekday - 1
	if week < 1 || week > 53 || weekday < 1 || weekday > 7 || week == 53 && !hasWeek53(year) {
		panic(wrong())
	}
	return day
}

func hasWeek53(year int) bool {
	_, week := time.Date(year, 12, 28, 0, 0, 0, 0, time.UTC).ISOWeek()
	return week == 53
}

// zone returns the time zone, nil if there is none.
func (p parts) zone(wrong func() error) *timezone {
	text, ok := p.get("zone")
	if !ok {
		return nil
	}
	offset := ((p.number("zH", 0)*60+p.number("zM", 0))*60+p.number("zS", 0))*microsPerSecond + p.fraction("zf")
	if offset >= microsPerDay || p.number("zM", 0) > 59 {
		panic(wrong())
	}
	if sign, _ := p.get("sign"); sign == "-" {
		offset = -offset
	}
	if offset == 0 || text == "Z" {
		return utc
	}
	return &timezone{offset: offset}
}
