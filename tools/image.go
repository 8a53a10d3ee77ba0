package tools

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // decoder
	"image/jpeg"
	"image/png"
	"net/http"
	"strings"

	"flower/agent"
	"flower/transcript"
)

// Bounds of an image. An image that the Messages API refuses would make every later request of the session fail, so
// nothing doubtful is sent. The number of pixels bounds the memory that reading one takes.
const (
	maxImageBytes  = transcript.MaxImageBytes / 4 * 3 // before base 64
	maxImageSide   = transcript.MaxImageSideOfMany
	maxImagePixels = 25_000_000
	// scaledSide is the longer side of an image that is scaled down: the endpoint scales larger ones to that before the
	// model sees them (the vendor's documentation on vision), so nothing is lost.
	scaledSide  = 1568
	jpegQuality = 85
)

// imageType returns the media type of the images that a model can see, "" for anything else.
func imageType(data []byte) string {
	switch kind := http.DetectContentType(data); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind
	}
	return ""
}

func readImage(kind, path string, data []byte) agent.ToolResult {
	p, err := loadPicture(kind, data)
	if err != nil {
		return agent.ErrorResult(fmt.Sprintf("%s (%s, %d bytes) cannot be shown: %v.", path, kind, len(data), err))
	}
	r := agent.ToolResult{
		Content: []transcript.Block{transcript.Image(p.kind, base64.StdEncoding.EncodeToString(p.data))},
		Display: strings.TrimSpace(fmt.Sprintf("%s: %s %dx%d", oneLine(path), kind, p.width, p.height)),
	}
	if p.scaled != "" {
		r.Content = append(r.Content, transcript.Text(fmt.Sprintf("[scaled down from %dx%d to %s pixels]", p.width, p.height, p.scaled)))
	}
	return r
}

// picture is an image as it is sent.
type picture struct {
	kind          string // media type
	data          []byte
	width, height int    // of the file
	scaled        string // the size it is sent in, if that is another one
}

// loadPicture decodes an image to know that it can be, and makes it smaller if the API would not take it. Of WebP, which
// the standard library does not know, only the frame is checked.
func loadPicture(kind string, data []byte) (p picture, err error) {
	p = picture{kind: kind, data: data}
	if kind == "image/webp" {
		if n := binary.LittleEndian.Uint32(data[4:]); int64(n) > int64(len(data))-8 {
			return p, fmt.Errorf("the file is cut short")
		}
	}
	p.width, p.height, err = transcript.ImageSize(bytes.NewReader(data))
	if err != nil {
		return p, fmt.Errorf("the image is damaged (%w)", err)
	}
	large := len(data) > maxImageBytes || p.width > maxImageSide || p.height > maxImageSide
	switch {
	case kind == "image/webp" && large:
		return p, fmt.Errorf("%dx%d pixels or %d bytes are too many; make a smaller copy with a command and read that", p.width, p.height, len(data))
	case kind == "image/webp":
		return p, nil
	case p.width*p.height > maxImagePixels:
		return p, fmt.Errorf("%dx%d pixels are too many; make a smaller copy with a command and read that", p.width, p.height)
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return p, fmt.Errorf("the image is damaged (%w)", err)
	}
	if large {
		return p, p.scale(img)
	}
	return p, nil
}

// scale sets what is sent to a smaller copy: a PNG, unless the image was none or would still be too large.
func (p *picture) scale(img image.Image) error {
	small := scaleDown(img, scaledSide)
	p.scaled = fmt.Sprintf("%dx%d", small.Bounds().Dx(), small.Bounds().Dy())
	var out bytes.Buffer
	if p.kind != "image/jpeg" {
		if err := png.Encode(&out, small); err != nil {
			return fmt.Errorf("scale image: %w", err)
		}
		if p.kind, p.data = "image/png", out.Bytes(); out.Len() <= maxImageBytes {
			return nil
		}
		out = bytes.Buffer{}
	}
	if err := jpeg.Encode(&out, small, &jpeg.Options{Quality: jpegQuality}); err != nil {
		return fmt.Errorf("scale image: %w", err)
	}
	p.kind, p.data = "image/jpeg", out.Bytes()
	return nil
}

// scaleDown makes an image whose longer side has at most so many pixels, each the mean of those it stands for.
func scaleDown(img image.Image, side int) image.Image {
	from := img.Bounds()
	width, height := from.Dx(), from.Dy()
	if longer := max(width, height); longer > side {
		width, height = max(1, width*side/longer), max(1, height*side/longer)
	}
	out := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		top, bottom := from.Min.Y+y*from.Dy()/height, from.Min.Y+(y+1)*from.Dy()/height
		for x := range width {
			left, right := from.Min.X+x*from.Dx()/width, from.Min.X+(x+1)*from.Dx()/width
			out.Set(x, y, mean(img, image.Rect(left, top, right, bottom)))
		}
	}
	return out
}

func mean(img image.Image, of image.Rectangle) color.Color {
	var r, g, b, a, n uint64
	for y := of.Min.Y; y < of.Max.Y; y++ {
		for x := of.Min.X; x < of.Max.X; x++ {
			pr, pg, pb, pa := img.At(x, y).RGBA()
			r, g, b, a, n = r+uint64(pr), g+uint64(pg), b+uint64(pb), a+uint64(pa), n+1
		}
	}
	n = max(n, 1)
	return color.RGBA64{R: uint16(r / n), G: uint16(g / n), B: uint16(b / n), A: uint16(a / n)}
}
