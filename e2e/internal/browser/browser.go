// Package browser drives a headless Chromium for tests of pages, and collects what goes wrong in
// them: errors of scripts, of the console, of loads, and violations of a page's policy.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// limit is how long one step in a page may take.
const limit = 2 * time.Minute

// Browser is one tab of a running Chromium. It is used by one goroutine. Close it.
type Browser struct {
	ctx   context.Context
	close []context.CancelFunc

	mu       sync.Mutex
	problems []string
}

// Start starts Chromium with an empty profile. The error says what to install if there is none.
func Start(ctx context.Context) (*Browser, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, fmt.Errorf("%w: install Debian's chromium", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("force-device-scale-factor", "1"))
	allocator, stopAllocator := chromedp.NewExecAllocator(ctx, options...)
	tab, closeTab := chromedp.NewContext(allocator)
	b := &Browser{ctx: tab, close: []context.CancelFunc{closeTab, stopAllocator}}
	if err := chromedp.Listen(tab, b.listen); err != nil {
		b.Close()
		return nil, fmt.Errorf("start chromium: %w", err)
	}
	return b, nil
}

// Close ends Chromium and waits for it.
func (b *Browser) Close() {
	_ = chromedp.Cancel(b.ctx)
	for _, cancel := range b.close {
		cancel()
	}
}

// listen collects problems.
func (b *Browser) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.add(fmt.Sprintf("exception: %s %s", e.ExceptionDetails.Text, describe(e.ExceptionDetails.Exception)))
	case *runtime.EventConsoleAPICalled:
		b.add(fmt.Sprintf("console: %s", e.Type))
	case *log.EventEntryAdded:
		b.add(fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
	case *network.EventLoadingFailed:
		if !e.Canceled {
			b.add("load: " + e.ErrorText)
		}
	}
}

func (b *Browser) add(problem string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, problem)
}

// Problems returns what went wrong since the last call.
func (b *Browser) Problems() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	problems := b.problems
	b.problems = nil
	return problems
}

// run runs a step within a limit.
func run[T any](b *Browser, what string, step chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	result, err := chromedp.Run(ctx, step)
	if err != nil {
		return result, fmt.Errorf("%s: %w", what, err)
	}
	return result, nil
}

// Visit loads a page.
func (b *Browser) Visit(address string) error {
	_, err := run(b, "visit "+address, chromedp.Navigate(address))
	return err
}

// Click clicks the first element that a selector of CSS finds.
func (b *Browser) Click(selector string) error {
	if err := b.layOut(); err != nil {
		return err
	}
	_, err := run(b, "click "+selector, chromedp.Click(chromedp.CSS(selector)))
	return err
}

// Wait waits until the first element that a selector of CSS finds is visible.
func (b *Browser) Wait(selector string) error {
	_, err := run(b, "wait for "+selector, chromedp.WaitVisible(chromedp.CSS(selector)))
	return err
}

// Press presses a key.
func (b *Browser) Press(key string) error {
	_, err := run(b, "press "+key, chromedp.KeyEvent(key))
	return err
}

// Location is the address of the page.
func (b *Browser) Location() (string, error) { return run(b, "location", chromedp.Location()) }

// Evaluate returns the value of an expression of JavaScript, or of its promise.
func Evaluate[T any](b *Browser, expression string) (T, error) {
	return run(b, "evaluate", chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Until waits until an expression of JavaScript is true. The page may change meanwhile.
func (b *Browser) Until(expression string) error {
	deadline := time.Now().Add(limit)
	for {
		done, err := Evaluate[bool](b, "!!("+expression+")")
		if done {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not true after %s: %w", expression, limit, errors.Join(err, context.DeadlineExceeded))
		}
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // no event tells it
	}
}

// Resize sets the size of the window, and whether the person prefers dark pages.
func (b *Browser) Resize(width, height int64, dark bool) error {
	if _, err := run(b, "resize", chromedp.EmulateViewport(width, height)); err != nil {
		return err
	}
	scheme := map[bool]string{true: "dark", false: "light"}[dark]
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	return err
}

// Overflow returns by how many pixels the page is wider than the window.
func (b *Browser) Overflow() (int, error) {
	return Evaluate[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`)
}

// layOut lays out what the page leaves out until it is scrolled to. A person scrolls, and looks
// again where to click.
func (b *Browser) layOut() error {
	_, err := Evaluate[int](b, `[...document.querySelectorAll("*")].filter(e => getComputedStyle(e).contentVisibility === "auto").map(e => e.style.contentVisibility = "visible").length`)
	return err
}

// Text returns the text of the elements that a selector finds, as a reader sees it who scrolls.
func (b *Browser) Text(selector string) (string, error) {
	if err := b.layOut(); err != nil {
		return "", err
	}
	return Evaluate[string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => e.innerText ?? e.textContent).join("\n")`, selector))
}

// Screenshot returns the window as a PNG.
func (b *Browser) Screenshot() ([]byte, error) {
	return run(b, "screenshot", chromedp.CaptureScreenshot())
}

// Audit runs axe on the page and returns its serious and critical findings. axe is its source.
func (b *Browser) Audit(axe string) ([]string, error) {
	if _, err := Evaluate[chromedp.Void](b, axe+";0"); err != nil {
		return nil, err
	}
	return Evaluate[[]string](b, `axe.run(document, {resultTypes: ["violations"], preload: false}).then(result => result.violations
		.filter(v => v.impact === "serious" || v.impact === "critical")
		.map(v => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(" | ")))`)
}

// describe says what a value of JavaScript is.
func describe(value *runtime.RemoteObject) string {
	if value == nil {
		return ""
	}
	return value.Description
}
