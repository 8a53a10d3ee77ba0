package agent

import (
	"errors"
	"strings"
	"unicode/utf8"
)

var errBadKey = errors.New("not a session key")

// Check says why a key cannot name a session: an empty part, or a part that would make its stored form mean another
// key. Ids come from files that people and other programs write, so stores ask before they write or look.
func (k Key) Check() error {
	if k.Project == "" || k.Session == "" || strings.Contains(k.Project, "/") || strings.Contains(k.Session, "/") ||
		strings.HasPrefix(k.SubPath, "/") || strings.HasSuffix(k.SubPath, "/") {
		return errBadKey
	}
	if s := k.String(); strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
		return errBadKey
	}
	return nil
}
