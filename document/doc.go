// Package document reads and writes the four documents that models and people
// exchange: the Brief (what is wanted), the Goal (how success is recognised),
// the Verdict (does a round pass) and the Handoff (what a successor must know).
//
// Parsing is lenient about form and strict about content. A section is a
// heading line and the text up to the next heading; which words name which
// section is a table for six languages (Chinese, English, Japanese, French,
// German, Spanish). What stands in a fence or an HTML comment is never read,
// and one that is not closed hides the rest of the text. A section repeated:
// the first that is not empty counts, later ones are kept in Rest.
//
// Rendering uses one fixed form, the Chinese headings of the files under
// .flower/notes, whatever language the text is in: other programs read these
// files. Rendering and parsing again changes nothing.
//
// Trust: every input is untrusted. It may be of any size, hold NUL bytes or
// bytes that are not UTF-8, and may try to look like a document it is not.
// Nothing here panics, needs more than linear time, or returns a string that is
// not valid UTF-8. The costly mistake is a verdict read as achieved when it is
// not, so Achieved is recognised from a closed vocabulary and everything that
// is not understood is Unclear.
//
// The package is pure: no files, no clock, no state. All functions may be
// called concurrently.
package document
