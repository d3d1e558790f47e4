package interp

import (
	"slices"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/python/regex"
)

// monthNames and dayNames return the names in the C locale, full or with three letters.
func monthNames(short bool) []string {
	names := make([]string, 12)
	for i := range names {
		if names[i] = strings.ToLower(time.Month(i + 1).String()); short {
			names[i] = names[i][:3]
		}
	}
	return names
}

func dayNames(short bool) []string {
	names := make([]string, 7) // from Monday
	for i := range names {
		if names[i] = strings.ToLower(time.Weekday((i + 1) % 7).String()); short {
			names[i] = names[i][:3]
		}
	}
	return names
}

// directivePatterns are the expressions of what strptime reads for each directive.
var directivePatterns = map[byte]string{
	'd': `(?P<d>3[0-1]|[1-2]\d|0[1-9]|[1-9]| [1-9])`, 'f': `(?P<f>[0-9]{1,6})`, 'H': `(?P<H>2[0-3]|[0-1]\d|\d)`, 'I': `(?P<I>1[0-2]|0[1-9]|[1-9])`,
	'j': `(?P<j>36[0-6]|3[0-5]\d|[1-2]\d\d|0[1-9]\d|00[1-9]|[1-9]\d|0[1-9]|[1-9])`, 'm': `(?P<m>1[0-2]|0[1-9]|[1-9])`, 'M': `(?P<M>[0-5]\d|\d)`,
	'S': `(?P<S>6[0-1]|[0-5]\d|\d)`, 'y': `(?P<y>\d\d)`, 'Y': `(?P<Y>\d\d\d\d)`,
	'z': `(?P<z>(?P<sign>[+-])(?P<zH>\d\d):?(?P<zM>[0-5]\d)(?::?(?P<zS>[0-5]\d)(?:\.(?P<zf>\d{1,6}))?)?|(?-i:Z))`,
	'Z': `(?P<Z>utc|gmt)`, 'p': `(?P<p>am|pm)`, '%': `%`,
	'a': `(?P<a>` + strings.Join(dayNames(true), "|") + `)`, 'A': `(?P<A>` + strings.Join(dayNames(false), "|") + `)`,
	'b': `(?P<b>` + strings.Join(monthNames(true), "|") + `)`, 'B': `(?P<B>` + strings.Join(monthNames(false), "|") + `)`,
	'w': `(?P<w>[0-6])`,
}

// strptimeShortcuts are the directives that strptime reads as others.
var strptimeShortcuts = map[byte]string{'c': "%a %b %d %H:%M:%S %Y", 'x': "%m/%d/%y", 'X': "%H:%M:%S"}

// strptimePattern returns the expression of a format.
func strptimePattern(format string, fail func(reason string)) string {
	var out strings.Builder
	for at := 0; at < len(format); at++ {
		c := format[at]
		switch {
		case c == '%' && at+1 >= len(format):
			fail("stray %")
		case c == '%':
			at++
			if long, ok := strptimeShortcuts[format[at]]; ok {
				out.WriteString(strptimePattern(long, fail))
				continue
			}
			pattern, ok := directivePatterns[format[at]]
			if !ok {
				fail("bad directive " + format[at:at+1])
			}
			out.WriteString(pattern)
		case strings.IndexByte(" \t\n\r\v\f", c) >= 0:
			for at+1 < len(format) && strings.IndexByte(" \t\n\r\v\f", format[at+1]) >= 0 {
				at++
			}
			out.WriteString(`\s+`)
		case strings.IndexByte(`\.^$*+?(){}[]|`, c) >= 0:
			out.WriteByte('\\')
			out.WriteByte(c)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// datetimeParse is datetime.strptime.
func datetimeParse(a *arguments) any {
	args := a.positionalOnly(2, 2)
	text := requireString(args[0], "strptime() argument 1 must be str, not %s")
	format := requireString(args[1], "strptime() argument 2 must be str, not %s")
	source := strptimePattern(format, func(reason string) {
		if reason == "stray %" {
			panic(raise("ValueError", "stray %% in format '%s'", format))
		}
		panic(raise("ValueError", "'%s' is a bad directive in format '%s'", strings.TrimPrefix(reason, "bad directive "), format))
	})
	p := a.compilePattern(source, int(regex.IgnoreCase))
	found := a.matchIn(p, text, 0, len(text), regex.Prefix, true)
	if found == nil {
		panic(raise("ValueError", "time data %s does not match format %s", a.repr(text), a.repr(format)))
	}
	if rest := text[found.positions[1]:]; rest != "" {
		panic(raise("ValueError", "unconverted data remains: %s", rest))
	}
	return parsedMoment(parts{p.Regexp, text, found.positions})
}

// parsedMoment returns the date and time of what strptime has read.
func parsedMoment(p parts) *moment {
	year, month, day := p.number("Y", 1900), p.number("m", 1), p.number("d", 1)
	if short := p.number("y", -1); short >= 0 {
		if year = 1900 + short; short <= 68 {
			year += 100
		}
	}
	for name, names := range map[string][]string{"b": monthNames(true), "B": monthNames(false)} {
		text, _ := p.get(name)
		if i := slices.Index(names, strings.ToLower(text)); i >= 0 {
			month = i + 1
		}
	}
	hour := p.number("H", 0)
	if half := p.number("I", 0); half > 0 {
		hour = half % 12
		if side, _ := p.get("p"); strings.EqualFold(side, "pm") {
			hour += 12
		}
	}
	t := &moment{class: datetimeClass, day: ordinal(year, month, day)}
	if yearDay := p.number("j", 0); yearDay > 0 {
		t.day = ordinal(year, 1, 1) + yearDay - 1
	}
	t.micros = timeOfDay(hour, p.number("M", 0), p.number("S", 0), p.fraction("f"))
	t.zone = p.zoneOffset()
	return t
}

// zoneOffset returns the time zone of %z, nil without one.
func (p parts) zoneOffset() *timezone {
	text, ok := p.get("z")
	if !ok {
		return nil
	}
	offset := ((p.number("zH", 0)*60+p.number("zM", 0))*60+p.number("zS", 0))*microsPerSecond + p.fraction("zf")
	if sign, _ := p.get("sign"); sign == "-" {
		offset = -offset
	}
	switch {
	case text == "Z" || offset == 0:
		return utc
	case offset >= microsPerDay || offset <= -microsPerDay:
		panic(raise("ValueError", "offset must be a timedelta strictly between -timedelta(hours=24) and timedelta(hours=24)."))
	}
	return &timezone{offset: offset}
}
