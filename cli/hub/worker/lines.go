package worker

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/cli/hub/store"
)

// maxWaiting is the number of lines that wait for the hub; later ones are dropped and counted.
const maxWaiting = 1000

// lines sends the log of a job without delaying its session.
type lines struct {
	queue chan store.Line
	done  chan struct{}
	stop  context.CancelFunc
	once  sync.Once

	mu      sync.Mutex
	closed  bool
	dropped int
}

// newLines returns lines that send stores, each until it succeeds.
func newLines(send func(context.Context, store.Line) error) *lines {
	ctx, cancel := context.WithCancel(context.Background())
	l := &lines{queue: make(chan store.Line, maxWaiting), done: make(chan struct{}), stop: cancel}
	go func() {
		defer close(l.done)
		for line := range l.queue {
			for send(ctx, line) != nil {
				if !pause(ctx, retry) {
					break
				}
			}
			if n := l.lost(); n > 0 {
				_ = send(ctx, store.Line{Time: time.Now().UTC(), Kind: "notice", Text: fmt.Sprintf("%d lines were dropped.", n)})
			}
		}
	}()
	return l
}

func (l *lines) lost() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.dropped
	l.dropped = 0
	return n
}

// add queues a line, or drops it.
func (l *lines) add(kind, text string) {
	if len(text) > maxLine {
		text = text[:maxLine]
		for !utf8.ValidString(text[max(0, len(text)-utf8.UTFMax):]) && len(text) > maxLine-utf8.UTFMax {
			text = text[:len(text)-1]
		}
		text += "\n[The rest was omitted.]"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	select {
	case l.queue <- store.Line{Time: time.Now().UTC(), Kind: kind, Text: strings.ToValidUTF8(text, "\uFFFD")}:
	default:
		l.dropped++
	}
}

// close sends the queued lines until ctx ends.
func (l *lines) close(ctx context.Context) {
	l.once.Do(func() {
		l.mu.Lock()
		l.closed = true
		close(l.queue)
		l.mu.Unlock()
		end := context.AfterFunc(ctx, l.stop)
		<-l.done
		end()
		l.stop()
	})
}
