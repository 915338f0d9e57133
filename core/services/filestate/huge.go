package filestate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

func isEOF(err error) bool { return errors.Is(err, io.EOF) }

// readHuge shows a range of a text file above the limit FileBytes without holding it in memory.
// Such a read has no hash and never qualifies. The text is decoded as UTF-8; invalid bytes are
// replaced.
func (s *Service) readHuge(ctx context.Context, r ReadRequest, f *os.File) (*Read, error) {
	rd := reading{local: isLocal(f), at: s.now()}
	cut, err := cutStream(ctx, f, r.Offset, r.Limit, s.limits.Lines, s.limits.Bytes)
	if err != nil {
		return nil, readFailure(r.Path, err)
	}
	if r.Offset > 0 && r.Offset >= cut.total {
		return nil, beyondEnd(r.Path, r.Offset, cut.total)
	}
	if cut, err = s.page(r, cut); err != nil {
		return nil, err
	}
	if rd.info, err = workspace.InfoOf(f); err != nil {
		return nil, readFailure(r.Path, err)
	}
	rd.first, rd.end, rd.totalLines, rd.unshowable = cut.first, cut.end, cut.total, true
	version := s.Versions.NextVersion()
	s.recordRead(ctx, heldRead{r.Path, rd, version, nil})
	st := &State{FilePath: r.Path.String(), Version: &version, Content: &cut.text}
	s.describe(st, cut)
	return &Read{State: st}, nil
}

// cutStream is cutLines for a stream.
func cutStream(ctx context.Context, f io.ReaderAt, offset, limit, maxLines, maxBytes int) (slice, error) {
	s := slice{first: offset, end: offset}
	want, capped := limit, false
	if limit <= 0 {
		want, capped = maxLines, true
	}
	var (
		shown strings.Builder
		line  []byte // the current line, at most maxBytes+1 of it
		over  bool   // the rest of the current line is only counted
		done  bool   // no more lines are shown
		at    int    // number of the current line, 0-based
		count lineCounter
		buf   = make([]byte, 256<<10)
	)
	endLine := func() {
		if !done && at >= offset {
			text := strings.ToValidUTF8(string(line), "\uFFFD")
			switch {
			case s.end-offset >= want:
				done, s.cut = true, capped
			case over || shown.Len()+len(text) > maxBytes:
				done, s.cut = true, true
				if shown.Len() == 0 {
					s.inside = true
					if len(text) > maxBytes {
						text = escape.Head(text, maxBytes)
					}
					shown.WriteString(text)
					s.end++
				}
			default:
				shown.WriteString(text)
				s.end++
			}
		}
		line, over = line[:0], false
		at++
	}
	for pos := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return slice{}, err
		}
		n, err := f.ReadAt(buf, pos)
		pos += int64(n)
		count.write(buf[:n])
		for rest := buf[:n]; !done && len(rest) > 0; {
			i := bytes.IndexByte(rest, '\n')
			part := rest
			if i >= 0 {
				part = rest[:i+1]
			}
			rest = rest[len(part):]
			if at >= offset && !over {
				line = append(line, part[:min(len(part), maxBytes+1-len(line))]...)
				over = len(line) > maxBytes
			}
			if i >= 0 {
				endLine()
			}
		}
		if err != nil && !isEOF(err) {
			return slice{}, err
		}
		if err != nil {
			break
		}
	}
	if !done && count.open {
		endLine()
	}
	s.total = count.lines()
	s.text = shown.String()
	return s, nil
}
