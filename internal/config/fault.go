package config

import "fmt"

// Fault is what is wrong with a value or a file. Its text is English, for logs; people are told in their own language by
// whoever talks to them.
type Fault int

// The faults of values.
const (
	LineBreak Fault = iota + 1
	NotASCII
	ControlCharacter
	BlankInKey
	NotURL
	NotHTTP
	NoHost
	UserInURL
	QueryInURL
	BadPort
	BadModel
	BadWindow
	BadSearch

	// The faults of files.
	NoSuchFile // one that the person named
	NotRegularFile
	TooLargeFile
	Unreadable
	Unwritable
	NotUTF8
	BadLine
	OpenQuote
	Unchangeable
	BadPrices // the error's Err says what
)

var faultTexts = map[Fault]string{
	LineBreak:        "the value has a line break in it; copy the key again, as one line",
	NotASCII:         "the value has characters that no key has (not ASCII); copy the key again",
	ControlCharacter: "the value has a control character in it; copy the key again",
	BlankInKey:       "the value has a blank in it; copy the key again, without words around it",
	NotURL:           "not a URL; write https://host",
	NotHTTP:          "not an http or https URL; write https://host",
	NoHost:           "the URL has no host; write https://host",
	UserInURL:        "the URL holds a user or password; take it out and set " + envAuthToken,
	QueryInURL:       "the URL has a query or fragment; end it at the path",
	BadPort:          "the URL's port is not a number from 1 to 65535",
	BadModel:         "not the name of a model; write it without blanks",
	BadWindow:        "not a number of tokens; write one like 200000",
	BadSearch:        "write auto, on or off",
	NoSuchFile:       "there is no such file; correct or unset " + envFile,
	NotRegularFile:   "not a regular file; put the settings into one",
	TooLargeFile:     "too large for a file of settings; is it the right one?",
	Unreadable:       "cannot be read; check what it is and its permissions",
	Unwritable:       "cannot be written; check the permissions of its directory",
	NotUTF8:          "not UTF-8 text; save it as UTF-8",
	BadLine:          "not of the form NAME=value; correct or remove it",
	OpenQuote:        "a quote is opened and the value does not end properly; close the quote, with nothing after it",
	Unchangeable:     "cannot be changed without changing what else is in it; set the values by hand",
	BadPrices:        "not a table of prices",
}

// Faults are all there are.
func Faults() []Fault {
	all := make([]Fault, 0, len(faultTexts))
	for f := LineBreak; f <= BadPrices; f++ {
		all = append(all, f)
	}
	return all
}

// String is the fault in English.
func (f Fault) String() string {
	if text := faultTexts[f]; text != "" {
		return text
	}
	return fmt.Sprintf("fault %d", int(f))
}

// ValueError says that a value was found and is no good. It does not repeat
// the value.
type ValueError struct {
	Name   string // of the variable
	Source string
	Why    Fault
}

// Error implements error.
func (e *ValueError) Error() string { return fmt.Sprintf("%s from %s: %v", e.Name, e.Source, e.Why) }

// FileError says that a file of settings cannot be used.
type FileError struct {
	Path string
	Line int // from 1; 0 = unknown
	Why  Fault
	Err  error // what the system, or who reads the content, said, if they did
}

// Error implements error.
func (e *FileError) Error() string {
	where := e.Path
	if e.Line > 0 {
		where = fmt.Sprintf("%s, line %d", e.Path, e.Line)
	}
	said := fmt.Sprintf("%s: %v", where, e.Why)
	if e.Err != nil {
		said += ": " + e.Err.Error()
	}
	return said
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }
