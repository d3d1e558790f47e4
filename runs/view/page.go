package view

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/runs/output"
)

// errNoPage means that there is no page at a path.
var errNoPage = errors.New("no such page")

//go:embed page/*.html page/dist
var files embed.FS

const (
	styleFile  = "style.css"
	scriptFile = "view.js"
)

// page is one page.
type page struct {
	// Root leads from the page to the first one, such as ../.
	Root  string
	Title string
	// Section is the part of the site that it belongs to.
	Section string
	// Over are the pages above it.
	Over []link
	// Keys are the links with a key.
	Keys []keyLink
	// Static: it is a file, Whole: the only one, with style and script in it.
	Static bool
	Whole  *whole
	// Compared: there are several runs. Pack: there is none, but a pack.
	Compared, Pack bool
	// Version is the state of the runs if another one may follow: the page then renews its parts.
	Version int
	Body    any

	template string
	runs     []*run
}

// link is a link below the root.
type link struct{ Text, Path string }

// keyLink is a link that a key follows.
type keyLink struct{ Key, Text, Path string }

// whole is what a page contains that is all by itself.
type whole struct {
	Style  template.CSS
	Script template.JS
	// Policy is its content security policy: this style and this script, and nothing else.
	Policy string
}

// newWhole returns the style and the script with their digests.
func newWhole() (*whole, error) {
	var digests []string
	var contents []string
	for _, name := range []string{styleFile, scriptFile} {
		content, err := asset(name)
		if err != nil {
			return nil, err
		}
		digest := sha256.Sum256(content)
		digests = append(digests, "'sha256-"+base64.StdEncoding.EncodeToString(digest[:])+"'")
		contents = append(contents, string(content))
	}
	policy := fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data:; base-uri 'none'; form-action 'none'", digests[0], digests[1])
	return &whole{template.CSS(contents[0]), template.JS(contents[1]), policy}, nil
}

// asset returns the style or the script.
func asset(name string) ([]byte, error) { return files.ReadFile("page/dist/" + name) }

// render returns a page as HTML. What an agent, a tool or a pack said is escaped by html/template;
// characters that would change the direction of writing are shown as escapes.
func (p *page) render() ([]byte, error) {
	parsed, err := templates()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := parsed.ExecuteTemplate(&out, p.template, p); err != nil {
		return nil, fmt.Errorf("render %s: %w", p.template, err)
	}
	return []byte(output.Printable(out.String())), nil
}

// scoreClass is the class of a similarity: none, some or all of it.
func scoreClass(similarity float64) string {
	switch similarity {
	case 0:
		return "s0"
	case 1:
		return "s1"
	}
	return "sp"
}

// decimal formats a number with some digits, a dash without one.
func decimal(value *float64, after int) string {
	if value == nil {
		return "–"
	}
	return strconv.FormatFloat(*value, 'f', after, 64)
}

// rolloutPath is the path of a rollout's page.
func rolloutPath(letter, name string) string { return letter + "/" + url.PathEscape(name) + ".html" }

// scenarioPath is the path of a scenario's page.
func scenarioPath(name string) string { return "scenario/" + url.PathEscape(name) + ".html" }

// comparePath is the path of the page with a scenario's transcripts side by side.
func comparePath(name string) string { return "compare/" + url.PathEscape(name) + ".html" }

// subPath is the path of a further page of a rollout or a scenario: a page of the transcript, from
// 1, the world at a message, the tools of a variant. In an exported directory it is in the file of
// the rollout.
func subPath(page, kind, which string, static bool) string {
	switch name := kind + "-" + url.PathEscape(which); {
	case name == "page-1":
		return page
	case static:
		return page + "?" + name
	default:
		return strings.TrimSuffix(page, ".html") + "/" + name + ".html"
	}
}

// newPage returns a page without content, some folders below the first one.
func (v *Viewer) newPage(depth int, static bool) *page {
	p := &page{Root: strings.Repeat("../", depth), Static: static, Compared: len(v.runs) > 1, Pack: v.pack != nil, runs: v.runs}
	if v.changing {
		p.Version = v.version
	}
	return p
}

// page returns the page at a path, whose segments are not escaped. query is the state of a table.
// The error is errNoPage if there is none.
func (v *Viewer) page(ctx context.Context, segments []string, query url.Values, static bool) (*page, error) {
	p := v.newPage(len(segments)-1, static)
	name, isPage := strings.CutSuffix(segments[len(segments)-1], ".html")
	if !isPage {
		return nil, errNoPage
	}
	switch folder := segments[0]; {
	case v.pack != nil && len(segments) == 1 && name == "index":
		v.packPage(p)
		return p, nil
	case v.pack != nil && folder != "scenario":
		return nil, errNoPage
	case len(segments) == 1 && name == "index":
		return p, v.runsPage(ctx, p)
	case len(segments) == 1 && name == "rollouts":
		return p, v.rolloutsPage(p, query)
	case len(segments) == 1 && name == "compare" && p.Compared:
		v.comparePage(p)
		return p, nil
	case len(segments) == 2 && folder == "compare" && p.Compared:
		return p, v.sidePage(ctx, p, name)
	case len(segments) == 2 && folder == "scenario":
		return p, v.scenarioPage(p, name)
	case len(segments) == 2:
		return p, v.rolloutPage(ctx, p, folder, name, 0, query)
	case len(segments) == 3:
		kind, number, _ := strings.Cut(name, "-")
		if folder == "scenario" && kind == "tools" {
			return p, v.toolsPage(p, segments[1], number)
		}
		if folder == "scenario" && name == "proof" {
			return p, v.proofPage(p, segments[1])
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 {
			return nil, errNoPage
		}
		switch kind {
		case "page":
			return p, v.rolloutPage(ctx, p, folder, segments[1], n-1, query)
		case "world":
			return p, v.worldPage(ctx, p, folder, segments[1], n)
		case "fork":
			return p, v.forkPage(ctx, p, folder, segments[1], n)
		}
	}
	return nil, errNoPage
}
