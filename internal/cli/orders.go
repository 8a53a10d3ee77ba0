package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"flower"
	"flower/internal/text"
)

// maxOrder is the longest line of standard input with --json, in bytes: a request of maxRequest bytes with every
// character escaped, and room for the rest.
const maxOrder = 6*maxRequest + 4<<10

// promptNames are what prompts are called in events.
var promptNames = map[string]string{"prompt.new": "request", "prompt.wake": "wake", "prompt.interrupt": "interrupt"}

// order is one line of standard input with --json.
type order struct {
	Type   string  `json:"type"` // request, answer, remark or interrupt
	ID     string  `json:"id"`   // of an answer: the question's
	Text   *string `json:"text"`
	Option *int    `json:"option"` // of an answer, instead of a text: the number of an option, from 1
}

// parseOrder reads one line. Keys that are not known are errors: a misspelt one would make an answer empty, which
// means something.
func parseOrder(line string) (order, error) {
	var o order
	if !utf8.ValidString(line) {
		return o, errors.New("not valid UTF-8")
	}
	dec := json.NewDecoder(strings.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil {
		return o, fmt.Errorf("no JSON object as expected: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return o, errors.New("more than one JSON value on the line")
	}
	return o, o.check()
}

func (o order) check() error {
	id, said, option := o.ID != "", o.Text != nil, o.Option != nil
	switch {
	case o.Type == "answer" && !id:
		return errors.New(`an answer needs the "id" of its question`)
	case o.Type == "answer" && said == option:
		return errors.New(`an answer needs either a "text" or an "option"`)
	case o.Type == "answer":
		return nil
	case o.Type != "request" && o.Type != "remark" && o.Type != "interrupt":
		return fmt.Errorf("type %q: there are request, answer, remark and interrupt", o.Type)
	case id || option:
		return fmt.Errorf(`"id" and "option" belong to an answer, not to %s`, o.Type)
	case !said && o.Type != "interrupt":
		return fmt.Errorf(`%s needs a "text"`, o.Type)
	}
	return nil
}

func (o order) text() string {
	if o.Text == nil {
		return ""
	}
	return *o.Text
}

// orders is the side of a program that drives a run. A line that cannot be used is told by an error event, and nothing
// else is lost by it.
type orders struct {
	app       *app
	lines     <-chan string
	interrupt func() bool // stops the agent at work; false if there is none

	mu      sync.Mutex
	asked   map[string]int // questions that wait, with how many options they have
	typed   *order         // the interrupt that is being obeyed
	capture chan *string   // takes what to go on with after it; nil sent means the end
	ended   bool
}

// newOrders begins to read. The goroutine that reads is left behind when the program ends, as that of newInput.
func newOrders(a *app) *orders {
	lines := make(chan string)
	o := &orders{app: a, lines: lines, asked: map[string]int{}, interrupt: func() bool { return false }}
	if a.stdio.In == nil {
		close(lines)
		return o
	}
	go func() {
		defer close(lines)
		in := bufio.NewReaderSize(a.stdio.In, 64<<10)
		for {
			line, err := readLine(in, maxOrder)
			if strings.TrimSpace(line) != "" {
				lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return o
}

// next waits for an order that can be understood; false at the end of the input.
func (o *orders) next(ctx context.Context) (order, string, bool, error) {
	for {
		select {
		case <-ctx.Done():
			return order{}, "", false, context.Cause(ctx)
		case line, ok := <-o.lines:
			if !ok {
				return order{}, "", false, nil
			}
			got, err := o.parse(line)
			if err == nil {
				return got, line, true, nil
			}
			o.refuse(line, err.Error())
		}
	}
}

func (o *orders) parse(line string) (order, error) {
	if len(line) > maxOrder {
		return order{}, spoken(o.app.Say("request.long", text.Data{"KiB": maxRequest >> 10}))
	}
	got, err := parseOrder(line)
	if err == nil {
		err = o.app.checkRequest(got.text())
	}
	return got, err
}

func (o *orders) refuse(line, why string) { o.app.events.refuse(line, oneLine(why)) }

// request waits for what is wanted, at the beginning or at wake.
func (o *orders) request(ctx context.Context, what string) (said string, ok bool, err error) {
	o.app.events.write(promptEvent{what})
	for {
		got, line, ok, err := o.next(ctx)
		switch {
		case err != nil || !ok:
			return "", false, err
		case got.Type == "request", got.Type == "remark":
			return strings.TrimSpace(o.app.withoutKeys(got.text())), true, nil
		case got.Type == "interrupt":
			return "", false, &stopError{exitInterrupt}
		}
		o.refuse(line, "no question waits")
	}
}

// serve obeys until ctx is done or the input ends; whoever starts it waits for it.
func (o *orders) serve(ctx context.Context, human *flower.Human) {
	for {
		got, line, ok, err := o.next(ctx)
		if err != nil {
			return
		}
		if !ok {
			o.end(human)
			return
		}
		if why := o.obey(ctx, human, got); why != "" && ctx.Err() == nil {
			o.refuse(line, why)
		}
	}
}

// end is the end of the input: nobody answers any more.
func (o *orders) end(human *flower.Human) {
	o.mu.Lock()
	o.ended = true
	if o.capture != nil {
		o.capture <- nil // buffered
		o.capture = nil
	}
	o.mu.Unlock()
	human.Leave()
	o.app.events.write(inputEndedEvent{})
}

// obey does what an order says; else it says why not.
func (o *orders) obey(ctx context.Context, human *flower.Human, got order) (why string) {
	switch got.Type {
	case "answer":
		return o.answer(human, got)
	case "interrupt":
		return o.stop(ctx, human, got)
	case "request":
		return "a run is at work: say it as a remark"
	}
	if capture := o.captured(); capture != nil {
		capture <- got.Text // buffered
		return ""
	}
	return o.remark(ctx, human, got.text())
}

func (o *orders) remark(ctx context.Context, human *flower.Human, said string) (why string) {
	if said = o.app.withoutKeys(said); strings.TrimSpace(said) == "" {
		return "an empty remark says nothing"
	}
	if err := human.Say(ctx, said); err != nil {
		return "not kept, say it again later: " + oneLine(err.Error())
	}
	return ""
}

func (o *orders) answer(human *flower.Human, got order) (why string) {
	o.mu.Lock()
	options, waits := o.asked[got.ID]
	o.mu.Unlock()
	said := o.app.withoutKeys(got.text())
	if got.Option != nil {
		said = strconv.Itoa(*got.Option)
	}
	switch {
	case !waits:
		return "no question with this id waits"
	case got.Option != nil && (*got.Option < 1 || *got.Option > options):
		return fmt.Sprintf("option %d: the question has %d", *got.Option, options)
	case !human.Answer(got.ID, said):
		return "no question with this id waits"
	}
	return ""
}

// stop interrupts the agent at work. A second interrupt, while it is asked what to go on with, ends the run.
func (o *orders) stop(ctx context.Context, human *flower.Human, got order) (why string) {
	if capture := o.captured(); capture != nil {
		capture <- nil
		return ""
	}
	o.mu.Lock()
	o.typed = &got
	o.mu.Unlock()
	if o.interrupt() {
		return ""
	}
	o.mu.Lock()
	o.typed = nil
	o.mu.Unlock()
	if strings.TrimSpace(got.text()) != "" {
		return o.remark(ctx, human, got.text()) // it is not lost
	}
	return "nothing is at work that could be interrupted"
}

// captured is who waits for what to go on with after an interrupt, who gets it then; nil is nobody.
func (o *orders) captured() chan *string {
	o.mu.Lock()
	defer o.mu.Unlock()
	capture := o.capture
	o.capture = nil
	return capture
}

// goOn says with what to go on after an interrupt; false is not at all, as after a signal: who sends one does not have
// to know what can be said here.
func (o *orders) goOn(ctx context.Context) (string, bool) {
	o.mu.Lock()
	typed, ended := o.typed, o.ended
	o.typed = nil
	capture := make(chan *string, 1)
	asks := typed != nil && typed.Text == nil && !ended
	if asks {
		o.capture = capture
	}
	o.mu.Unlock()
	if !asks {
		if typed == nil || typed.Text == nil {
			return "", false
		}
		return o.app.withoutKeys(*typed.Text), true
	}
	o.app.events.write(promptEvent{promptNames["prompt.interrupt"]})
	select {
	case said := <-capture:
		if said == nil {
			return "", false
		}
		return o.app.withoutKeys(*said), true
	case <-ctx.Done():
		o.captured()
		return "", false
	}
}

// follow knows which questions wait.
func (o *orders) follow(ev flower.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch ev := ev.(type) {
	case flower.Asked:
		o.asked[ev.Question.ID] = len(ev.Question.Options)
	case flower.Settled:
		delete(o.asked, ev.Question.ID)
	}
}
