package demo

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/selfregulating/sr/cli/demo/prose"
)

// longestPiece is where a line is cut into several records, at a space: brokers take about 1 MB by default, and a piece
// may have the rest of the one before it.
const longestPiece = 256 << 10

// text is what is fed, record by record. next returns io.EOF at its end; the record is valid until the next call.
type text interface {
	next() (record []byte, err error)
	size() int64 // bytes, for the progress bar; 0 if unknown
	close()
}

// openText opens the file, or has text made up.
func openText(cfg Config) (text, error) {
	if cfg.File == "" {
		return &madeText{left: cfg.Bytes, whole: cfg.Bytes}, nil
	}
	f, err := os.Open(cfg.File)
	if err != nil {
		return nil, wrongArgument("the text cannot be read: %w", err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder", cfg.File)
	}
	if err != nil {
		_ = f.Close()
		return nil, wrongArgument("the text cannot be read: %w", err)
	}
	return &fileText{file: f, lines: bufio.NewReaderSize(f, longestPiece), whole: info.Size()}, nil
}

// madeText is made up until so many bytes are there.
type madeText struct {
	// from has a seed of its own for each run in a folder.
	from        *prose.Generator
	left, whole int64
	sentence    []byte
}

func (m *madeText) next() ([]byte, error) {
	if m.left <= 0 {
		return nil, io.EOF
	}
	m.sentence = m.from.Next(m.sentence[:0])
	m.left -= int64(len(m.sentence))
	return m.sentence, nil
}

func (m *madeText) size() int64 { return m.whole }
func (m *madeText) close()      {}

// fileText is the lines of a file, without their ends (\n or \r\n).
type fileText struct {
	file  *os.File
	lines *bufio.Reader
	whole int64
	line  int
	// cut is the begun word of a line that was cut, and joined that line's next piece with it.
	cut, joined []byte
}

func (f *fileText) next() ([]byte, error) {
	piece, err := f.lines.ReadSlice('\n')
	if len(f.cut) > 0 {
		f.joined = append(append(f.joined[:0], f.cut...), piece...)
		piece, f.cut = f.joined, f.cut[:0]
	}
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return f.cutAtSpace(piece)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("reading the text: %w", err)
	case len(piece) == 0:
		return nil, io.EOF
	}
	f.line++
	return bytes.TrimSuffix(bytes.TrimSuffix(piece, []byte("\n")), []byte("\r")), nil
}

func (f *fileText) cutAtSpace(piece []byte) ([]byte, error) {
	space := bytes.LastIndexByte(piece, ' ')
	if space < 0 {
		return nil, wrongArgument("line %d of %s has a word of more than %d bytes: it is not a text", f.line+1, f.file.Name(), longestPiece)
	}
	f.cut = append(f.cut[:0], piece[space+1:]...)
	return piece[:space], nil
}

func (f *fileText) size() int64 { return f.whole }
func (f *fileText) close()      { _ = f.file.Close() }
