package sqlite

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"os"
)

// Sizes and numbers of the write-ahead log's format (sqlite.org/fileformat2.html, section 4).
const (
	walHeaderSize = 32
	walFrameSize  = 24         // of a frame's header; a page follows
	walMagic      = 0x377f0682 // the last bit says that checksums are of big-endian words
	walVersion    = 3007000

	minPage, maxPage = 512, 65536
)

// errMoved says that a file changed while it was read, so that what was read may be of two states.
var errMoved = errors.New("database is being changed")

// wal is what a write-ahead log holds: of every page the version of the last transaction that is complete in it. Frames
// are only ever added behind those; when the log is begun anew its header changes first.
type wal struct {
	file   *os.File
	header [walHeaderSize]byte
	page   int              // bytes of a page
	pages  map[uint32]int64 // page number → where its content is in the file
	count  uint32           // pages of the database after the last commit; 0: no commit
}

// scanWAL reads a log from its start up to the last frame whose checksum holds. One that is empty, cut in its header or
// of another format holds nothing, as SQLite sees it too.
func scanWAL(file *os.File) (*wal, error) {
	w := &wal{file: file, pages: map[uint32]int64{}}
	in := bufio.NewReaderSize(io.NewSectionReader(file, 0, 1<<62), 1<<20)
	if _, err := io.ReadFull(in, w.header[:]); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return w, nil
		}
		return nil, err
	}
	sum, ok := w.begin()
	if !ok {
		return w, nil
	}
	if err := w.frames(in, sum); err != nil {
		return nil, err
	}
	if w.restarted() {
		return nil, errMoved
	}
	return w, nil
}

// begin reads the header.
func (w *wal) begin() (checksum, bool) {
	word := func(at int) uint32 { return binary.BigEndian.Uint32(w.header[at:]) }
	sum := checksum{big: word(0)&1 == 1}
	size := word(8)
	if word(0)&^1 != walMagic || word(4) != walVersion || size < minPage || size > maxPage || bits.OnesCount32(size) != 1 {
		return sum, false
	}
	sum.add(w.header[:24])
	w.page = int(size)
	return sum, sum.is(w.header[24:])
}

// frames indexes the frames of complete transactions.
func (w *wal) frames(in io.Reader, sum checksum) error {
	frame := make([]byte, walFrameSize+w.page)
	open := map[uint32]int64{} // of the transaction that is being read
	for at := int64(walHeaderSize); ; at += int64(len(frame)) {
		if _, err := io.ReadFull(in, frame); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			return err
		}
		number := binary.BigEndian.Uint32(frame)
		sum.add(frame[:8])
		sum.add(frame[walFrameSize:])
		if number == 0 || !bytes.Equal(frame[8:16], w.header[16:24]) || !sum.is(frame[16:]) {
			return nil
		}
		open[number] = at + walFrameSize
		if count := binary.BigEndian.Uint32(frame[4:]); count != 0 {
			for n, place := range open {
				w.pages[n] = place
			}
			clear(open)
			w.count = count
		}
	}
}

// restarted says whether the log has been begun anew, or cannot be read any more.
func (w *wal) restarted() bool {
	var now [walHeaderSize]byte
	n, _ := w.file.ReadAt(now[:], 0)
	return n < walHeaderSize && w.count > 0 || n == walHeaderSize && now != w.header
}

// checksum is the running checksum of a log.
type checksum struct {
	big  bool
	a, b uint32
}

// add goes on over data, whose length is a multiple of 8.
func (c *checksum) add(data []byte) {
	a, b := c.a, c.b
	if c.big {
		for ; len(data) >= 8; data = data[8:] {
			a += binary.BigEndian.Uint32(data) + b
			b += binary.BigEndian.Uint32(data[4:]) + a
		}
	} else {
		for ; len(data) >= 8; data = data[8:] {
			a += binary.LittleEndian.Uint32(data) + b
			b += binary.LittleEndian.Uint32(data[4:]) + a
		}
	}
	c.a, c.b = a, b
}

// is compares with a stored checksum.
func (c *checksum) is(stored []byte) bool {
	return binary.BigEndian.Uint32(stored) == c.a && binary.BigEndian.Uint32(stored[4:]) == c.b
}
