package tools

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif"  // decoders
	_ "image/jpeg" // for the check
	_ "image/png"  // of images
	"net/http"
	"strings"

	"flower/agent"
	"flower/transcript"
)

// Bounds of an image. The Messages API takes 5 MB in base 64 and 8000 pixels a side; an image it refuses would make
// every later request of the session fail, so nothing doubtful is sent. The number of pixels bounds the memory that
// the check takes.
const (
	maxImageBytes  = 5 << 20 / 4 * 3
	maxImageSide   = 8000
	maxImagePixels = 25_000_000
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
	if len(data) > maxImageBytes {
		return agent.ErrorResult(fmt.Sprintf("%s is an image of %d bytes, more than the %d that can be shown. Make a smaller copy with a command and read that.", path, len(data), maxImageBytes))
	}
	size, err := checkImage(kind, data)
	if err != nil {
		return agent.ErrorResult(fmt.Sprintf("%s (%s) cannot be shown: %v.", path, kind, err))
	}
	return agent.ToolResult{
		Content: []transcript.Block{transcript.Image(kind, base64.StdEncoding.EncodeToString(data))},
		Display: strings.TrimSpace(fmt.Sprintf("%s: %s %s", oneLine(path), kind, size)),
	}
}

// checkImage decodes an image to know that it can be, and returns its size as text. Of WebP, which the standard library
// does not know, only the frame is checked.
func checkImage(kind string, data []byte) (size string, err error) {
	if kind == "image/webp" {
		if n := binary.LittleEndian.Uint32(data[4:]); int64(n) > int64(len(data))-8 {
			return "", fmt.Errorf("the file is cut short")
		}
		return "", nil
	}
	conf, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return "", fmt.Errorf("the image is damaged (%w)", err)
	}
	size = fmt.Sprintf("%dx%d", conf.Width, conf.Height)
	if conf.Width > maxImageSide || conf.Height > maxImageSide || conf.Width*conf.Height > maxImagePixels {
		return "", fmt.Errorf("%s pixels are too many; make a smaller copy with a command and read that", size)
	}
	if _, _, err := image.Decode(bytes.NewReader(data)); err != nil {
		return "", fmt.Errorf("the image is damaged (%w)", err)
	}
	return size, nil
}
