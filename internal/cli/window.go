package cli

import (
	"context"
	"sync"
	"time"

	"flower/internal/config"
	"flower/internal/text"
	"flower/messages"
)

// windowWait bounds the question for a window: without an answer the table will do.
const windowWait = 5 * time.Second

// windows knows how much models take in. It implements flower.Windows: what the person says wins, then what was found out
// by overflowing it, then what the endpoint says, then the table of names. What overflows in this process wins over all.
type windows struct {
	said        config.Setting[int] // by flag or environment; 0 is nothing
	baseURL     string
	model       string // the default one
	calibration config.Calibration
	ask         func(ctx context.Context, model string) (tokens int, known bool, err error) // the endpoint
	say         *text.Printer
	now         func() time.Time

	mu       sync.Mutex
	endpoint map[string]int // what the endpoint said; 0: it does not know
	overflow map[string]int // smallest size in this process
}

// Window implements flower.Windows.
func (w *windows) Window(ctx context.Context, model string) (int, string) {
	model = firstOf(model, w.model)
	tokens, source := w.look(ctx, model)
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := w.overflow[model]; n > 0 && n < tokens {
		return n, w.calibration.Path()
	}
	return tokens, source
}

// size is a model's window as far as it is known without asking anybody.
func (w *windows) size(model string) int {
	model = firstOf(model, w.model)
	w.mu.Lock()
	tokens, over := w.endpoint[model], w.overflow[model]
	w.mu.Unlock()
	if n, known := w.calibration.Window(w.baseURL, model); known {
		tokens = n
	}
	switch {
	case w.said.Value > 0:
		tokens = w.said.Value
	case tokens == 0:
		tokens = messages.Window(model)
	}
	if over > 0 {
		tokens = min(tokens, over)
	}
	return tokens
}

func (w *windows) look(ctx context.Context, model string) (int, string) {
	if w.said.Value > 0 {
		return w.said.Value, w.said.Source
	}
	if n, known := w.calibration.Window(w.baseURL, model); known {
		return n, w.calibration.Path()
	}
	if n := w.askOnce(ctx, model); n > 0 {
		return n, w.baseURL
	}
	return messages.Window(model), w.say.Say("window.table")
}

// askOnce asks the endpoint for a model's window, again only if there was no answer.
func (w *windows) askOnce(ctx context.Context, model string) int {
	w.mu.Lock()
	n, asked := w.endpoint[model]
	w.mu.Unlock()
	if asked {
		return n
	}
	ctx, cancel := context.WithTimeout(ctx, windowWait)
	defer cancel()
	n, known, err := w.ask(ctx, model)
	if err != nil {
		return 0
	}
	if !known {
		n = 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endpoint[model] = n
	return n
}

// Overflowed implements flower.Windows.
func (w *windows) Overflowed(model string, tokens int) error {
	model = firstOf(model, w.model)
	w.mu.Lock()
	if n := w.overflow[model]; n == 0 || tokens < n {
		w.overflow[model] = tokens
	}
	w.mu.Unlock()
	return w.calibration.Record(context.Background(), w.baseURL, model, tokens, w.now())
}

// Same implements flower.Windows.
func (w *windows) Same(asked, answered string) bool {
	return messages.SameModel(firstOf(asked, w.model), answered)
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
