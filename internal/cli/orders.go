package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"flower"
	"flower/internal/text"
)

// maxOrder is the longest line of standard input with --json, in bytes: a request of maxRequest bytes with every
// character escaped, and room for the rest.
const maxOrder = 6*maxRequest + 4<<10

// promptNames are what prompts are called in events.
var promptNames = map[string]string{"prompt.new": "request", "prompt.wake": "wake", "prompt.interrupt": "interrupt"}

// orders is the side of a program that drives a run. A line that cannot be used is told by an error event, and nothing
// else is lost by it.
type orders struct {
	app       *app
	lines     <-chan orderLine
	interrupt func() bool              // stops the agent at work; false if there is none
	side      func(sideQuestion) error // takes a question beside the work, or says why not, as asides.ask; nil: nobody answers any
	deaf      bool                     // nobody hears remarks
	sides     int                      // side questions that were asked

	mu      sync.Mutex
	asked   map[string]int    // questions that wait, with how many options they have
	closed  map[string]string // how those ended that do not wait any more
	typed   *order            // the interrupt that is being obeyed
	capture chan *string      // takes what to go on with after it; nil sent means the end
	ended   bool
}

// orderLine is a line of standard input with its number, from 1.
type orderLine struct {
	n    int
	text string
}

// newOrders begins to read. The goroutine that reads is left behind when the program ends, as that of newInput.
func newOrders(a *app) *orders {
	lines := make(chan orderLine)
	o := &orders{
		app: a, lines: lines, asked: map[string]int{}, closed: map[string]string{}, interrupt: func() bool { return false },
	}
	if a.stdio.In == nil {
		close(lines)
		return o
	}
	go func() {
		defer close(lines)
		in := bufio.NewReaderSize(a.stdio.In, 64<<10)
		for n := 1; ; n++ {
			line, err := readLine(in, maxOrder)
			if n == 1 {
				line = strings.TrimPrefix(line, "\uFEFF") // some write one before everything
			}
			if strings.TrimSpace(line) != "" {
				lines <- orderLine{n, line}
			}
			if err != nil {
				return
			}
		}
	}()
	return o
}

// next waits for an order that can be understood; false at the end of the input. What only asks how things stand is
// answered here.
func (o *orders) next(ctx context.Context) (order, orderLine, bool, error) {
	for {
		select {
		case <-ctx.Done():
			return order{}, orderLine{}, false, context.Cause(ctx)
		case line, ok := <-o.lines:
			if !ok {
				return order{}, orderLine{}, false, nil
			}
			got, err := o.parse(line.text)
			switch {
			case err != nil:
				o.refuse(line, err)
			case got.Type == orderStatus:
				o.app.events.write(statusEvent{lookAt(ctx, o.app.events.workspace, o.app.abs(o.app.global.runDir))})
			default:
				return got, line, true, nil
			}
		}
	}
}

func (o *orders) parse(line string) (order, error) {
	if len(line) > maxOrder {
		return order{}, wrongOrder(hintOrder, "%s", o.app.Say("request.long", text.Data{"KiB": maxRequest >> 10}))
	}
	got, err := parseOrder(line)
	if err == nil {
		if long := o.app.checkRequest(got.text()); long != nil {
			err = wrongOrder("say it in fewer words", "%s", long.Error())
		}
	}
	return got, err
}

func (o *orders) refuse(line orderLine, why error) { o.app.events.refuse(line, why) }

// request waits for what is wanted, at the beginning or at wake.
func (o *orders) request(ctx context.Context, what string) (wanted wish, ok bool, err error) {
	o.app.events.write(promptEvent{what})
	for {
		got, line, ok, err := o.next(ctx)
		if err != nil || !ok {
			return wish{}, false, err
		}
		said := strings.TrimSpace(o.app.withoutKeys(got.text()))
		switch got.Type {
		case orderRequest, orderRemark:
			if e := parseEntry(said); e.command == commandNew && e.text == "" && what != "remark" {
				return wish{fresh: true}, true, nil // said as people type it
			}
			return wish{text: said}, true, nil
		case orderInterrupt:
			return wish{}, false, &stopError{exitInterrupt}
		case orderNew:
			if what == "remark" {
				o.refuse(line, errNewBeside)
				continue
			}
			return wish{said, true}, true, nil
		case orderAnswer:
			o.refuse(line, wrongOrder("answer a prompt with a request", "no question waits"))
		case orderAside:
			o.refuse(line, wrongOrder("ask when the work has begun", "nothing is at work that could be asked about"))
		}
	}
}

var (
	errNewBeside = wrongOrder("end the other flower first, or use another run directory", "another flower is at work here")
	errAtWork    = wrongOrder(`say it as a remark`, "a run is at work")
	errNewAtWork = wrongOrder(`{"type":"interrupt"} twice ends this run; then start flower --new`, "a run is at work")
	errDeaf      = wrongOrder(`{"type":"interrupt","text":"..."} makes it go on with your words`, "a single agent hears no remarks while it works")
	errNoSides   = wrongOrder("only flower go answers side questions", "nobody is there for side questions")
	errSidesFull = wrongOrder("ask again when one is answered", "%d side questions wait already", asideQueue)
	errSidesOver = wrongOrder("ask flower status, or go on", "the work is done: no more side questions are taken")
	errNothing   = wrongOrder("interrupt when an agent is at work", "nothing is at work that could be interrupted")
	errEmpty     = wrongOrder("say something", "an empty text says nothing")
)

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
		if why := o.obey(ctx, human, got); why != nil {
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
func (o *orders) obey(ctx context.Context, human *flower.Human, got order) error {
	switch got.Type {
	case orderAnswer:
		return o.answer(human, got)
	case orderInterrupt:
		return o.stop(ctx, human, got)
	case orderRequest:
		return errAtWork
	case orderNew:
		return errNewAtWork
	case orderAside:
		return o.aside(got)
	}
	if capture := o.captured(); capture != nil {
		capture <- got.Text // buffered
		return nil
	}
	return o.remark(ctx, human, got.text())
}

func (o *orders) remark(ctx context.Context, human *flower.Human, said string) error {
	said = o.app.withoutKeys(said)
	switch {
	case o.deaf:
		return errDeaf
	case strings.TrimSpace(said) == "":
		return errEmpty
	}
	// The line was taken: that the work ends at this moment must not lose it.
	if err := human.Say(context.WithoutCancel(ctx), said); err != nil {
		return wrongOrder("say it again later", "not kept: %s", oneLine(err.Error()))
	}
	return nil
}

func (o *orders) aside(got order) error {
	q := sideQuestion{id: got.ID, text: strings.TrimSpace(o.app.withoutKeys(got.text()))}
	o.sides++
	if q.id == "" {
		q.id = fmt.Sprint("aside-", o.sides)
	}
	switch {
	case o.side == nil:
		return errNoSides
	case q.text == "":
		return errEmpty
	}
	switch err := o.side(q); {
	case errors.Is(err, errAsidesOver):
		return errSidesOver
	case err != nil:
		return errSidesFull
	}
	return nil
}

func (o *orders) answer(human *flower.Human, got order) error {
	o.mu.Lock()
	options, waits := o.asked[got.ID]
	o.mu.Unlock()
	said := o.app.withoutKeys(got.text())
	var picked []string
	for i, n := range got.numbers() {
		switch {
		case !waits: // said below
		case options == 0:
			return wrongOrder("answer with a text", "the question has no options")
		case n < 1 || n > options:
			return wrongOrder(fmt.Sprintf("pick 1 to %d, or answer with a text", options), "option %d: the question has %d", n, options)
		case slices.Contains(got.numbers()[:i], n):
			return wrongOrder("pick each once", "option %d is there twice", n)
		}
		picked = append(picked, strconv.Itoa(n))
	}
	if len(picked) > 0 {
		said = strings.Join(picked, ",")
	}
	if waits && human.Answer(got.ID, said) {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	how, was := o.closed[got.ID]
	switch {
	case was:
		return wrongOrder("it was not taken; say it as a remark", "the question with this id does not wait any more: %s", how)
	case waits: // its end is not told yet
		return wrongOrder("it was not taken; say it as a remark", "the question with this id does not wait any more")
	}
	return wrongOrder(`take "id" from a question event`, "no question with this id waits")
}

// stop interrupts the agent at work. A second interrupt, while it is asked what to go on with, ends the run.
func (o *orders) stop(ctx context.Context, human *flower.Human, got order) error {
	if capture := o.captured(); capture != nil {
		capture <- nil
		return nil
	}
	o.mu.Lock()
	o.typed = &got
	o.mu.Unlock()
	if o.interrupt() {
		return nil
	}
	o.mu.Lock()
	o.typed = nil
	o.mu.Unlock()
	if strings.TrimSpace(got.text()) != "" && !o.deaf {
		return o.remark(ctx, human, got.text()) // it is not lost
	}
	return errNothing
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
		delete(o.closed, ev.Question.ID) // one that was cut off is asked again
	case flower.Settled:
		delete(o.asked, ev.Question.ID)
		o.closed[ev.Question.ID] = string(ev.How)
	}
}
