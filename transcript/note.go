package transcript

import (
	"fmt"
	"strings"
)

// Notes stand where a result was. They are always the same bytes, and what is a note is never replaced again.
const (
	expiredNote     = "[Output no longer kept: it was a look at a state that may have changed since. Run the command again if you need it.]"
	interruptedNote = "[This call was stopped before it was done; there is no output.]"
	unknownNote     = "[outcome unknown: the program ended while this call was running. It may have had its effect, in part or in full: check before doing it again.]"
	lostStartNote   = "[The beginning of this conversation is lost.]"
)

// The pointer to a spilled text.
const (
	spillDir      = ".flower/spill/"
	pointerPrefix = "[Text moved to " + spillDir
	lostPrefix    = "[Text too long to be kept: " // where there are no files
)

func pointer(name string, characters int) string {
	return fmt.Sprintf("%s%s, %d characters. Read that file if you need it.]", pointerPrefix, name, characters)
}

// isNote says whether a result's text stands for something that is not there any more.
func isNote(text string) bool {
	switch text {
	case expiredNote, interruptedNote, unknownNote:
		return true
	}
	return strings.HasPrefix(text, pointerPrefix) || strings.HasPrefix(text, lostPrefix)
}

// UnknownOutcome returns the result of a call that was running when the program ended: nobody knows what it did.
func UnknownOutcome(toolUseID string) Block { return ToolResult(toolUseID, false, Text(unknownNote)) }
