package modeltest

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"flower/transcript"
)

// outgoing is a response cut into the pieces that are written one by one: the events of a stream, or one body.
type outgoing struct {
	reply  Reply
	status int
	header http.Header
	pieces []piece
}

type piece struct {
	data  []byte
	delta string // type of the block the piece is a delta of; "" for all other events
	first bool   // of the first block of that type
}

func plain(r Reply) *outgoing {
	return &outgoing{reply: r, status: r.Status, header: http.Header{}, pieces: []piece{{data: r.Body}}}
}

func whole(r Reply, m transcript.Message) *outgoing {
	body := messageJSON(m, m.Content, usageJSON(m.Usage, m.Usage.Output))
	maps.Copy(body, ending(r, m))
	return &outgoing{
		reply: r, status: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}},
		pieces: []piece{{data: encode(body)}},
	}
}

func event(name string, data map[string]any) []byte {
	data["type"] = name
	return []byte("event: " + name + "\ndata: " + string(encode(data)) + "\n\n")
}

func streamed(r Reply, m transcript.Message) *outgoing {
	out := &outgoing{
		reply: r, status: http.StatusOK,
		header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}, "Cache-Control": {"no-cache"}},
	}
	add := func(name string, data map[string]any) {
		out.pieces = append(out.pieces, piece{data: event(name, data)})
	}
	add("message_start", map[string]any{"message": messageJSON(m, nil, usageJSON(m.Usage, 1))})
	seen := map[string]bool{}
	for i, b := range m.Content {
		start, deltas := parts(b, r.Chunk)
		add("content_block_start", map[string]any{"index": i, "content_block": start})
		if i == 0 {
			add("ping", map[string]any{})
		}
		for _, d := range deltas {
			out.pieces = append(out.pieces, piece{
				data:  event("content_block_delta", map[string]any{"index": i, "delta": d}),
				delta: b.Type, first: !seen[b.Type],
			})
		}
		seen[b.Type] = true
		add("content_block_stop", map[string]any{"index": i})
	}
	add("message_delta", map[string]any{"delta": ending(r, m), "usage": usageJSON(m.Usage, m.Usage.Output)})
	add("message_stop", map[string]any{})
	return out
}

// parts splits a block into what its start says and the deltas that follow.
func parts(b transcript.Block, chunk int) (any, []map[string]any) {
	var deltas []map[string]any
	add := func(typ, key, text string) {
		for _, piece := range chunks(text, chunk) {
			deltas = append(deltas, map[string]any{"type": typ, key: piece})
		}
	}
	switch b.Type {
	case transcript.TypeText:
		add("text_delta", "text", b.Text)
		start := map[string]any{"type": b.Type, "text": ""}
		if cited := citations(b); cited != nil {
			start["citations"] = []any{}
			for _, c := range cited {
				deltas = append(deltas, map[string]any{"type": "citations_delta", "citation": c})
			}
		}
		return start, deltas
	case transcript.TypeThinking:
		add("thinking_delta", "thinking", b.Thinking)
		deltas = append(deltas, map[string]any{"type": "signature_delta", "signature": b.Signature})
		return map[string]string{"type": b.Type, "thinking": "", "signature": ""}, deltas
	case transcript.TypeToolUse, transcript.TypeServerToolUse:
		deltas = []map[string]any{{"type": "input_json_delta", "partial_json": ""}}
		add("input_json_delta", "partial_json", string(b.Input))
		return map[string]any{"type": b.Type, "id": b.ID, "name": b.Name, "input": struct{}{}}, deltas
	}
	return b, nil
}

// citations are what a text cites; nil is nothing.
func citations(b transcript.Block) []json.RawMessage {
	var v struct {
		Citations []json.RawMessage `json:"citations"`
	}
	_ = json.Unmarshal(encode(b), &v) // a block of ours
	return v.Citations
}

// chunks cuts text on character boundaries.
func chunks(text string, size int) []string {
	if size <= 0 {
		size = 24
	}
	var out []string
	size = max(1, min(size, (utf8.RuneCountInString(text)+1)/2)) // two at least: there is a middle
	for text != "" {
		end := 0
		for n := 0; n < size && end < len(text); n++ {
			_, w := utf8.DecodeRuneInString(text[end:])
			end += w
		}
		out = append(out, text[:end])
		text = text[end:]
	}
	return out
}

// offset turns a point into bytes of the body, -1 for before the response, and false for a point the answer does not
// have.
func (o *outgoing) offset(p Point) (int, bool) {
	if p == (Point{}) {
		return -1, true
	}
	events, deltas := p.Events, 0
	for _, pc := range o.pieces {
		if pc.first && pc.delta == p.Inside {
			deltas++
		}
	}
	if p.Inside != "" && deltas == 0 {
		return 0, false
	}
	total, left := 0, (deltas+1)/2
	for _, pc := range o.pieces {
		total += len(pc.data)
		switch events--; {
		case events == 0:
			return total, true
		case p.Bytes > 0 && total >= p.Bytes:
			return p.Bytes, true
		case p.Inside != "" && pc.first && pc.delta == p.Inside:
			if left--; left == 0 {
				return total, true
			}
		}
	}
	return 0, false
}

// stop is a place, in bytes of the body, where something happens besides writing.
type stop struct {
	at  int
	run func() error
}

// How a response ends before its time: as HTTP in good order, or with the connection.
var (
	errEnd   = errors.New("end of the body")
	errAbort = http.ErrAbortHandler
)

// connection writes one response.
type connection struct {
	s     *Server
	w     http.ResponseWriter
	r     *http.Request
	rec   *Record
	out   *outgoing
	stops []stop // those still ahead, in order
	begun bool
	sent  int
}

// send writes a response, stopping and breaking off where the reply says.
func (s *Server) send(w http.ResponseWriter, r *http.Request, rec *Record, out *outgoing) {
	c := &connection{s: s, w: w, r: r, rec: rec, out: out}
	for _, h := range out.reply.Holds {
		if at, ok := out.offset(h.At); ok {
			c.stops = append(c.stops, stop{at, func() error { return c.wait(h.Gate.arrive()) }})
		}
	}
	if b := out.reply.Break; b != nil {
		if at, ok := out.offset(b.At); ok {
			c.stops = append(c.stops, stop{at, func() error { return c.breakOff(b) }})
		}
	}
	slices.SortStableFunc(c.stops, func(a, b stop) int { return cmp.Compare(a.at, b.at) })
	err := c.run()
	s.note(func() { rec.Ended, rec.Whole = true, err == nil })
	if err != nil && !errors.Is(err, errEnd) {
		panic(errAbort)
	}
}

func (c *connection) run() error {
	if err := c.stopUntil(-1); err != nil {
		return err
	}
	c.begin()
	for i, p := range c.out.pieces {
		if i > 0 {
			if err := c.pace(); err != nil {
				return err
			}
		}
		if err := c.piece(p.data); err != nil {
			return err
		}
	}
	return nil
}

// stopUntil makes the stops up to a place.
func (c *connection) stopUntil(at int) error {
	for len(c.stops) > 0 && c.stops[0].at <= at {
		next := c.stops[0]
		c.stops = c.stops[1:]
		if err := next.run(); err != nil {
			return err
		}
	}
	return nil
}

func (c *connection) begin() {
	if c.begun {
		return
	}
	c.begun = true
	maps.Copy(c.w.Header(), c.out.header)
	c.w.Header().Set("Request-Id", requestID(c.rec.Seq))
	maps.Copy(c.w.Header(), c.out.reply.Header)
	c.w.WriteHeader(c.out.status)
	c.s.note(func() { c.rec.Status = c.out.status })
	c.flush()
}

func (c *connection) piece(data []byte) error {
	end := c.sent + len(data)
	for len(c.stops) > 0 && c.stops[0].at < end {
		n := c.stops[0].at - c.sent
		if err := c.write(data[:n]); err != nil {
			return err
		}
		data = data[n:]
		if err := c.stopUntil(c.sent); err != nil {
			return err
		}
	}
	if err := c.write(data); err != nil {
		return err
	}
	c.s.note(func() { c.rec.Events++ })
	return c.stopUntil(end)
}

func (c *connection) write(data []byte) error {
	n, err := c.w.Write(data)
	c.sent += n
	c.s.note(func() { c.rec.Bytes += n })
	c.flush()
	return err
}

// flush shows the client what has been written. A failure shows at the next write.
func (c *connection) flush() { _ = http.NewResponseController(c.w).Flush() }

// wait waits for a gate; a client that leaves and a server that closes end the answer.
func (c *connection) wait(open <-chan struct{}) error {
	select {
	case <-open:
		return nil
	case <-c.r.Context().Done():
	case <-c.s.closing:
	}
	return errAbort
}

func (c *connection) pace() error {
	if c.out.reply.Pace <= 0 {
		return nil
	}
	tick := time.NewTimer(c.out.reply.Pace)
	defer tick.Stop()
	select {
	case <-tick.C:
		return nil
	case <-c.r.Context().Done():
	case <-c.s.closing:
	}
	return errAbort
}

// breakOff ends the answer: it never returns nil.
func (c *connection) breakOff(b *Break) error {
	switch b.How {
	case Reset:
		return c.reset()
	case Silence:
		if b.Gate == nil {
			return c.wait(nil)
		}
		_ = c.wait(b.Gate.arrive())
		return errAbort
	case ErrorEvent:
		c.begin()
		typ := b.Type
		if typ == "" {
			typ = "overloaded_error"
		}
		if err := c.write(event("error", map[string]any{"error": map[string]string{"type": typ, "message": b.Message}})); err != nil {
			return err
		}
		return errEnd
	case End:
		c.begin()
		return errEnd
	default: // HangUp
		return errAbort
	}
}

// reset closes the connection so that the client sees a reset and not an end. In memory there is only an end.
func (c *connection) reset() error {
	conn, _, err := http.NewResponseController(c.w).Hijack()
	if err != nil {
		return errAbort
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
	return errEnd
}
