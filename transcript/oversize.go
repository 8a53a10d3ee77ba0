package transcript

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif"  // headers
	_ "image/jpeg" // of the kinds of images
	_ "image/png"  // that the API takes
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// What the Messages API takes, from the vendor's documentation as of 2026-11-29 ("Vision", "Errors"). A request that
// breaks one of these is refused, and so is every later one of the session.
const (
	// MaxImageBytes is the size of one image, in base 64, as its error message counts.
	MaxImageBytes = 5 << 20
	// MaxImageSide is the width and the height of an image in pixels.
	MaxImageSide = 8000
	// MaxImageSideOfMany is the same in a request with more than ManyImages of them. Images over 1568 pixels are scaled
	// down by the endpoint before the model sees them, so a bound of 2000 loses nothing.
	MaxImageSideOfMany = 2000
	// ManyImages is how many images a request may hold before MaxImageSideOfMany holds.
	ManyImages = 20
	// MaxImages is how many images a request may hold: 100 for models with a window of 200,000 tokens, more for others.
	MaxImages = 100
	// MaxRequestBytes is the size of a whole request.
	MaxRequestBytes = 32 << 20
)

const (
	// imagesKept is how many images stay, the newest, when a history holds MaxImages: half, so that it is not changed
	// again soon.
	imagesKept = MaxImages / 2
	// headKept is how many characters stay of a text that is moved to a file: less than trimMin, so that what is left is
	// not moved again.
	headKept = 1000
	// worthMoving is the size in bytes from which something is moved to make a request smaller.
	worthMoving = 8000
)

// Fit bounds the content of a result, or of what a person says. The zero value bounds images only.
type Fit struct {
	// MaxText is how many bytes the texts may have together; longer ones go to a file, and their beginning stays with a
	// pointer. 0 does not limit.
	MaxText int
	// NoSpill says that there is no such file: what does not fit is lost.
	NoSpill bool
	// MaxSide is the width and height of images in pixels; 0 is MaxImageSide.
	MaxSide int
}

// Content returns the content as it can be sent, the text that has to be written to a file, if any, and whether
// anything had to be changed. The list given stays as it is.
func (f Fit) Content(content []Block) (fitted []Block, moved []Spill, changed bool) {
	fitted = slices.Clone(content)
	size := 0
	for i, b := range fitted {
		switch b.Type {
		case TypeText:
			size += len(b.Text)
		case TypeImage:
			if fault := b.imageFault(f.MaxSide); fault != "" {
				fitted[i], changed = imageNote(fault), true
			}
		}
	}
	if f.MaxText <= 0 || size <= f.MaxText {
		return fitted, nil, changed
	}
	var texts []string
	fitted = slices.DeleteFunc(fitted, func(b Block) bool {
		if b.Type == TypeText {
			texts = append(texts, b.Text)
		}
		return b.Type == TypeText
	})
	note, moved := f.move(strings.Join(texts, "\n"))
	return slices.Insert(fitted, 0, note), moved, true
}

// move returns what stands in a long text's place.
func (f Fit) move(text string) (Block, []Spill) {
	head := text[:min(len(text), headKept*utf8.UTFMax)]
	if r := []rune(head); len(r) > headKept {
		head = string(r[:headKept])
	}
	head = strings.ToValidUTF8(head, "")
	characters := utf8.RuneCountInString(text)
	if f.NoSpill {
		return Text(fmt.Sprintf("%s%d characters. It begins:]\n%s …", lostPrefix, characters, head)), nil
	}
	name := spillName(text)
	return Text(pointer(name, characters) + " It begins:\n" + head + " …"), []Spill{{Name: name, Text: text}}
}

func imageNote(fault string) Block { return Text("[Image left out: " + fault + ".]") }

// source is where an image block says that its data is; ok is false if it is not in the block.
func (b Block) source() (mediaType, data string, ok bool) {
	var v struct {
		Source struct {
			Type      string `json:"type"`
			MediaType string `json:"media_type"`
			Data      string `json:"data"`
		} `json:"source"`
	}
	if b.Type != TypeImage || json.Unmarshal(b.raw, &v) != nil || v.Source.Type != "base64" {
		return "", "", false
	}
	return v.Source.MediaType, v.Source.Data, true
}

// imageFault says why the API would refuse an image, "" if nothing is known against it. An image whose size cannot be
// read is left to the endpoint.
func (b Block) imageFault(side int) string {
	kind, data, ok := b.source()
	switch {
	case !ok:
		return ""
	case !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind):
		return fmt.Sprintf("%.40q is not a kind that can be sent", kind)
	case len(data) > MaxImageBytes:
		return fmt.Sprintf("%d bytes in base 64, more than the %d that can be sent", len(data), MaxImageBytes)
	}
	if side == 0 {
		side = MaxImageSide
	}
	width, height, err := ImageSize(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
	if err == nil && (width > side || height > side) {
		return fmt.Sprintf("%dx%d pixels, more than the %d a side that can be sent", width, height, side)
	}
	return ""
}

// ImageSize reads the size of an image in pixels from its header: PNG, JPEG, GIF and WebP, the kinds that the API takes.
func ImageSize(r io.Reader) (width, height int, err error) {
	head := make([]byte, webpHeader)
	n, err := io.ReadFull(r, head)
	if err == nil && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP" {
		return webpSize(head)
	}
	conf, _, err := image.DecodeConfig(io.MultiReader(strings.NewReader(string(head[:n])), r))
	return conf.Width, conf.Height, err
}

// webpHeader is how many bytes of a WebP file hold its size.
const webpHeader = 30

// webpSize reads the size of a WebP image from its first 30 bytes; the standard library does not know the format.
func webpSize(head []byte) (width, height int, err error) {
	if len(head) >= webpHeader {
		switch string(head[12:16]) {
		case "VP8X": // extended: 24 bits each, less one
			return 1 + int(uint24(head[24:])), 1 + int(uint24(head[27:])), nil
		case "VP8L": // lossless: 14 bits each, less one, behind a signature byte
			if bits := binary.LittleEndian.Uint32(head[21:]); head[20] == 0x2f {
				return 1 + int(bits&0x3fff), 1 + int(bits>>14&0x3fff), nil
			}
		case "VP8 ": // lossy: 14 bits each, behind the frame tag and the start code
			if string(head[23:26]) == "\x9d\x01\x2a" {
				return int(binary.LittleEndian.Uint16(head[26:]) & 0x3fff), int(binary.LittleEndian.Uint16(head[28:]) & 0x3fff), nil
			}
		}
	}
	return 0, 0, image.ErrFormat
}

func uint24(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }

// Weigh estimates how many bytes messages take in a request, a little too high for texts made here, and counts the
// images in them.
func Weigh(messages []Message) (bytes, images int) {
	for _, m := range messages {
		for _, b := range m.Content {
			n, i := b.weigh()
			bytes, images = bytes+n, images+i
		}
	}
	return bytes, images
}

func (b Block) weigh() (bytes, images int) {
	const around = 80 // keys and punctuation
	if b.Type == TypeImage {
		images = 1
	}
	for _, c := range b.Content {
		n, i := c.weigh()
		bytes, images = bytes+n, images+i
	}
	if b.raw != nil {
		return len(b.raw), images
	}
	text := len(b.Text) + len(b.Thinking)
	return bytes + text + text/8 + len(b.Signature) + len(b.Data) + len(b.Input) + around, images
}

// shrink takes out what is too large to be sent: texts over their limits, images that the API refuses, and, if all together is
// over MaxRequest or holds too many images, the oldest of what is large.
func (h *history) shrink(opts Options) []Spill {
	s := shrinker{seen: map[string]bool{}}
	var large []*piece
	for n := range h.all {
		for _, p := range n.pieces {
			if !p.live() {
				continue
			}
			bytes, images := p.weigh()
			s.bytes, s.images = s.bytes+bytes, s.images+images
			if n.role == RoleUser && (images > 0 || bytes > worthMoving) {
				large = append(large, p)
			}
		}
	}
	fit := Fit{NoSpill: opts.NoSpill}
	if s.images > ManyImages {
		fit.MaxSide = MaxImageSideOfMany
	}
	for _, p := range large {
		fit.MaxText = opts.MaxText
		if p.Type == TypeToolResult {
			fit.MaxText = opts.MaxResult
		}
		s.apply(p, fit, false)
	}
	tooMany := s.images >= MaxImages
	tooLarge := opts.MaxRequest > 0 && s.bytes > opts.MaxRequest
	fit.MaxText = worthMoving
	for _, p := range large {
		switch {
		case tooLarge && s.bytes > opts.MaxRequest/2:
			s.apply(p, fit, true)
		case tooMany && s.images > imagesKept:
			s.apply(p, Fit{}, true)
		}
	}
	h.report.Oversize = s.changed
	return s.spills
}

// shrinker makes pieces smaller and keeps account.
type shrinker struct {
	bytes, images int // of the whole history
	changed       int
	spills        []Spill
	seen          map[string]bool
}

// apply makes a piece fit; if drop is set its images and documents go whatever their size.
func (s *shrinker) apply(p *piece, fit Fit, drop bool) {
	bytes, images := p.weigh()
	content := []Block{*p.Block}
	if p.Type == TypeToolResult {
		content = slices.Clone(p.Content)
	}
	dropped := false
	for i, c := range content {
		if drop && (c.Type == TypeImage || c.Type == TypeDocument) {
			content[i], dropped = Text("["+c.Type+" left out: the conversation had become too large.]"), true
		}
	}
	fitted, moved, changed := fit.Content(content)
	switch {
	case !changed && !dropped:
		return
	case p.Type == TypeToolResult:
		p.replace(ToolResult(p.ToolUseID, p.IsError, fitted...))
	default:
		p.replace(fitted[0])
	}
	s.changed++
	for _, m := range moved {
		if !s.seen[m.Name] {
			s.seen[m.Name] = true
			s.spills = append(s.spills, m)
		}
	}
	b, i := p.weigh()
	s.bytes, s.images = s.bytes+b-bytes, s.images+i-images
}
