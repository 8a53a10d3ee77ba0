package modeltest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"flower/transcript"
)

// shape is what a block of one type looks like.
type shape struct {
	role     string // "" may stand in messages of either role
	required map[string]byte
	optional []string
}

// shapes are the blocks that clients write; opaque are those that only pass through.
var (
	shapes = map[string]shape{
		"text":              {"", map[string]byte{"text": '"'}, []string{"cache_control", "citations"}},
		"image":             {"user", map[string]byte{"source": '{'}, []string{"cache_control", "transformations"}},
		"document":          {"user", map[string]byte{"source": '{'}, []string{"cache_control", "title", "context", "citations"}},
		"tool_result":       {"user", map[string]byte{"tool_use_id": '"'}, []string{"cache_control", "content", "is_error", "toolset_name"}},
		"tool_use":          {"assistant", map[string]byte{"id": '"', "name": '"', "input": '{'}, []string{"cache_control", "caller", "toolset_name"}},
		"thinking":          {"assistant", map[string]byte{"thinking": '"', "signature": '"'}, nil},
		"redacted_thinking": {"assistant", map[string]byte{"data": '"'}, nil},
	}
	opaque = []string{
		"search_result", "server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result",
		"bash_code_execution_tool_result", "text_editor_code_execution_tool_result", "tool_search_tool_result",
		"container_upload",
	}
	insideResult = []string{"text", "image", "document", "search_result", "tool_reference"}
	toolUseID    = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	imageTypes   = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
)

// maxImage is the API's limit for one image, in bytes of base 64: its error message counts those.
const maxImage = transcript.MaxImageBytes

// parseBlock reads an object with an optional cache_control and type; what the type asks for is checked elsewhere.
func parseBlock(path string, raw json.RawMessage) (block, error) {
	keys, err := parseObject(path, raw)
	if err != nil {
		return block{}, err
	}
	b := block{path: path, keys: keys, typ: keys.text("type")}
	if b.canon, err = canonical(raw); err != nil {
		return block{}, invalid("%s: %v", path, err)
	}
	if cc, ok := keys["cache_control"]; ok && string(cc) != "null" {
		if b.mark, err = parseMark(path+".cache_control", cc); err != nil {
			return block{}, err
		}
	}
	return b, nil
}

func parseMark(path string, raw json.RawMessage) (*mark, error) {
	cc, err := parseObject(path, raw)
	if err != nil {
		return nil, err
	}
	if cc.text("type") != "ephemeral" {
		return nil, invalid("%s.type: Input should be 'ephemeral'", path)
	}
	if err := cc.only(path+".ephemeral", "type", "ttl"); err != nil {
		return nil, err
	}
	if ttl := cc.text("ttl"); cc.has("ttl") && ttl != "5m" && ttl != "1h" {
		return nil, invalid("%s.ephemeral.ttl: Input should be '5m' or '1h'", path)
	}
	return &mark{hour: cc.text("ttl") == "1h"}, nil
}

// checkBlock checks a block of a message with the given role.
func checkBlock(b *block, role string) error {
	if !b.keys.has("type") {
		return invalid("%s.type: Field required", b.path)
	}
	sh, ok := shapes[b.typ]
	if !ok {
		if slices.Contains(opaque, b.typ) {
			return checkSearchBlock(b)
		}
		return invalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags", b.path, b.typ)
	}
	if sh.role != "" && sh.role != role {
		return invalid("%s: `%s` blocks can only be in `%s` messages", b.path, b.typ, sh.role)
	}
	path := b.path + "." + b.typ
	allowed := append([]string{"type"}, sh.optional...)
	for key := range sh.required {
		allowed = append(allowed, key)
	}
	if err := b.keys.only(path, allowed...); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(sh.required)) {
		if err := b.keys.require(path, key); err != nil {
			return err
		}
		if err := want(path+"."+key, b.keys[key], sh.required[key]); err != nil {
			return err
		}
	}
	switch b.typ {
	case "text":
		return checkText(b)
	case "image":
		return checkImage(b)
	case "tool_use":
		return checkCall(b)
	case "tool_result":
		return checkResult(b)
	case "thinking", "redacted_thinking":
		return nil
	}
	return nil
}

func checkText(b *block) error {
	if err := b.keys.require(b.path+".text", "text"); err != nil {
		return err
	}
	if err := want(b.path+".text.text", b.keys["text"], '"'); err != nil {
		return err
	}
	section, _, _ := strings.Cut(b.path, ".")
	switch text := b.text(); {
	case text == "" && b.mark != nil:
		return invalid("%s.text.cache_control: cache_control cannot be set for empty text blocks", b.path)
	case text == "":
		return invalid("%s: text content blocks must be non-empty", section)
	case strings.TrimSpace(text) == "":
		return invalid("%s: text content blocks must contain non-whitespace text", section)
	}
	return checkCitations(b)
}

func checkImage(b *block) error {
	path := b.path + ".image.source"
	src, err := parseObject(path, b.keys["source"])
	if err != nil {
		return err
	}
	switch src.text("type") {
	case "url", "file":
		return nil
	case "base64":
	default:
		return invalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags: 'base64', 'file', 'url'", path, src.text("type"))
	}
	if !slices.Contains(imageTypes, src.text("media_type")) {
		return invalid("%s.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'", path)
	}
	encoded := src.text("data")
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(data) == 0 {
		return invalid("%s.base64: invalid base64 data", path)
	}
	if len(encoded) > maxImage {
		return invalid("%s.base64: image exceeds 5 MB maximum: %d bytes > %d bytes", path, len(encoded), maxImage)
	}
	b.side = imageSide(data)
	if b.side > transcript.MaxImageSide {
		return invalid("%s.base64.data: At least one of the image dimensions exceed max allowed size: %d pixels", path, transcript.MaxImageSide)
	}
	return nil
}

// imageSide is the longer side of an image in pixels. One that cannot be read has none: tests send images of a few bytes,
// which the real endpoint would refuse.
func imageSide(data []byte) int {
	width, height, err := transcript.ImageSize(bytes.NewReader(data))
	if err != nil {
		return 0
	}
	return max(width, height)
}

// checkImages checks what holds for all images of a request together.
func (t *tree) checkImages() error {
	var images []block
	for i := range t.turns {
		for _, b := range t.turns[i].blocks {
			if b.typ == "image" {
				images = append(images, b)
			}
			images = append(images, b.images...)
		}
	}
	if len(images) > transcript.MaxImages {
		return invalid("messages: Too much media: 0 document pages + %d images > %d", len(images), transcript.MaxImages)
	}
	for _, b := range images {
		if len(images) > transcript.ManyImages && b.side > transcript.MaxImageSideOfMany {
			return invalid("%s.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: %d pixels", b.path, transcript.MaxImageSideOfMany)
		}
	}
	return nil
}

func checkCall(b *block) error {
	path := b.path + ".tool_use"
	if !toolUseID.MatchString(b.id()) {
		return invalid("%s.id: String should match pattern '%s'", path, toolUseID)
	}
	if !toolName.MatchString(b.keys.text("name")) {
		return invalid("%s.name: String should match pattern '%s'", path, toolName)
	}
	return nil
}

func checkResult(b *block) error {
	path := b.path + ".tool_result"
	if !toolUseID.MatchString(b.toolUseID()) {
		return invalid("%s.tool_use_id: String should match pattern '%s'", path, toolUseID)
	}
	if b.keys.has("is_error") {
		if err := want(path+".is_error", b.keys["is_error"], 'b'); err != nil {
			return err
		}
	}
	content, ok := b.keys["content"]
	if !ok || kindOf(content) == '"' {
		return nil
	}
	list, err := parseList(path+".content", content)
	if err != nil {
		return err
	}
	for i, raw := range list {
		inner, err := parseBlock(index(b.path+".content", i), raw)
		if err != nil {
			return err
		}
		if !slices.Contains(insideResult, inner.typ) {
			return invalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags: 'document', 'image', 'search_result', 'text', 'tool_reference'", index(path+".content", i), inner.typ)
		}
		if inner.typ == "tool_reference" {
			continue
		}
		if err := checkBlock(&inner, "user"); err != nil {
			return err
		}
		if inner.typ == "image" {
			b.images = append(b.images, inner)
		}
	}
	return nil
}
