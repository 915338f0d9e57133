package tui

import (
	"context"
	"iter"
	"strings"
	"time"

	"charm.land/bubbles/v2/progress"
	"charm.land/bubbles/v2/spinner"
	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/diffview"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/highlight"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/pager"
	"github.com/fettle-dev/fettle/cli/tui/picker"
	"github.com/fettle-dev/fettle/cli/tui/textfield"
)

// Delays.
const (
	// tickEvery is the interval of animation.
	tickEvery = 100 * time.Millisecond
	// armAfter is the time that a dialog is on the screen before it accepts keys, so
	// that earlier keys do not count: two frames.
	armAfter = 40 * time.Millisecond
	// armNextAfter is the same for a dialog that follows an answer, whose key may
	// still be held down.
	armNextAfter = 250 * time.Millisecond
	// heldFor is the time that an answering key waits for another key, which would
	// show that words are typed.
	heldFor = 150 * time.Millisecond
	// quitFor is the time within which a quit key must be pressed again.
	quitFor = 2 * time.Second
	// quietFor is the pause in typing after which a dialog takes the keyboard.
	quietFor = 700 * time.Millisecond
)

// screen is the model of the whole screen. All of it belongs to the drawing
// goroutine; other goroutines send messages.
type screen struct {
	o Options
	h *host

	width, height int
	detail        bool         // show folded parts
	look          *theme.Theme // the theme; see setTheme
	light         bool         // the background of the terminal
	themeName     string       // of a theme that was selected by name; "": none
	asking        bool         // the terminal has not reported its background yet
	colours       *highlight.Highlighter
	pass          int           // of drawing; see [screen.colour]
	colouring     bool          // a drawing with more colours is scheduled
	patience      time.Duration // for the colours of a frame; 0: no limit

	transcript blocks.Transcript
	calls      map[string]*blocks.Call // of this session, by id
	answer     answerState

	input      textfield.Model
	history    history
	search     *search
	completion completion
	queued     []string // to be submitted when the turn has ended

	turn        *turn
	turns       int
	questions   []*asked // the first is displayed, or about to be
	pager       *pager.Model
	reading     *reading // of pager; nil: none
	picker      *picker.Model
	choose      func(submit string) // what follows from a choice in picker
	previewed   previewed
	notice      string // of the last key; cleared by the next one
	firstKey    string // the first stroke of a pair, until the second one; "": none
	typedAt     time.Time
	answeredAt  time.Time
	status      interactive.Status
	ticking     bool
	spin        spinner.Model
	bar         progress.Model // of the used context
	quitArmed   bool
	rewindArmed bool // Esc was pressed once at an empty input
	quitAsked   int  // number of quit keys; identifies their timers
	quitting    bool
	focus       focus
	alert       string // notification for the terminal; "": none
	lastWords   string
	reopens     bool // the conversation is displayed again
	err         error
}

// turn is the turn in progress.
type turn struct {
	id      int
	text    string // the submitted text; "" is the start of the session
	cancel  func()
	ending  bool
	working string
	started time.Time
	again   time.Time // time of the next attempt; past: no retry is pending
}

// Messages that the model posts to itself.
type (
	tickMsg   struct{}
	turnEvent struct {
		turn  int
		event interactive.Event
	}
	turnEnded struct{ turn int }
	batchMsg  []any // the content of the mailbox
	quitMsg   struct{}
	// quitAskedMsg reports that a key that must be pressed twice was pressed once.
	quitAskedMsg struct{ asked int }
)

func newScreen(o Options, h *host) *screen {
	m := &screen{
		o: o, h: h,
		width: 80, height: 24,
		calls:   map[string]*blocks.Call{},
		history: newHistory(o.Session.Inputs()),
		status:  o.Session.Status(),
		colours: highlight.New(), patience: colourFor,
		spin: spinner.New(spinner.WithSpinner(spinner.MiniDot)), // one column
		bar:  newBar(),
	}
	m.light = o.Light
	m.setTheme(o.Theme)
	return m
}

// Init starts the session.
func (m *screen) Init() tea.Cmd {
	m.begin("", nil)
	if m.o.First != "" {
		m.queued = append(m.queued, m.o.First)
	}
	return m.askBackground()
}

// Update handles a message.
func (m *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	before := m.shape()
	cmd := m.update(msg)
	if m.quitting {
		if m.asking && m.err == nil { // the report would be printed after the end
			return m, nil
		}
		return m, tea.Quit
	}
	m.keepTicking()
	m.keepReading()
	if m.shape() != before {
		cmd = tea.Batch(cmd, tea.ClearScreen)
	}
	if alert := m.alerted(); alert != nil {
		cmd = tea.Batch(cmd, alert)
	}
	return m, cmd
}

// shape identifies the arrangement of the window. When it changes, everything is
// redrawn, because the renderer's incremental update can leave the end of an old line
// behind.
type shape struct {
	width, height int
	question      *asked
	pager         *pager.Model
	picker        *picker.Model
	look          *theme.Theme
}

func (m *screen) shape() shape {
	return shape{m.width, m.height, m.question(), m.pager, m.picker, m.look}
}

func (m *screen) update(msg any) tea.Cmd {
	switch msg := msg.(type) {
	case batchMsg:
		var cmds []tea.Cmd
		for len(msg) > 0 {
			if text, n := m.typedRun(msg); n > 1 {
				m.typeText(text)
				msg = msg[n:]
				continue
			}
			if cmd := m.update(msg[0]); cmd != nil {
				cmds = append(cmds, cmd)
			}
			msg = msg[1:]
		}
		return tea.Batch(cmds...)
	case tea.WindowSizeMsg:
		m.width, m.height = max(msg.Width, 1), max(msg.Height, 1)
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		m.paste(msg.Content)
	case tea.MouseWheelMsg:
		switch msg.Button {
		case tea.MouseWheelUp:
			m.scroll(-3)
		case tea.MouseWheelDown:
			m.scroll(3)
		}
	case tea.FocusMsg:
		m.focus = focused
	case tea.BlurMsg:
		m.focus = unfocused
	case tea.BackgroundColorMsg:
		m.background(msg)
	case colourMsg:
		m.colouring = false
	case backgroundLate:
		m.asking = false
	case tickMsg:
		m.ticking = false
		m.spin, _ = m.spin.Update(spinner.TickMsg{}) // keepTicking schedules the next frame
	case turnEvent:
		if m.turn != nil && msg.turn == m.turn.id {
			return m.event(msg.event)
		}
	case turnEnded:
		if m.turn != nil && msg.turn == m.turn.id {
			m.endTurn()
		}
	case readMsg:
		m.read(msg)
	case imageMsg:
		m.insertImage(msg)
	case inputEditedMsg:
		m.inputEdited(msg)
	case completionMsg:
		m.completion.take(msg, &m.input)
	case quitAskedMsg:
		if msg.asked == m.quitAsked && (m.quitArmed || m.rewindArmed) {
			m.quitArmed, m.rewindArmed, m.notice = false, false, ""
		}
	case quitMsg:
		m.quitting = true
	case panicMsg:
		m.err, m.quitting = msg.err, true
	default:
		return m.busMessage(msg)
	}
	return nil
}

// paste inserts pasted text where typed text would go; if the current dialog has no
// use for it, it is kept for the input.
func (m *screen) paste(text string) {
	if q := m.question(); q != nil && q.armed && q.dialog.Paste(text) {
		return
	}
	if m.pager != nil && m.pager.Paste(text) {
		return
	}
	if m.picker != nil && m.pager == nil {
		m.picker.Paste(text)
		m.preview()
		return
	}
	if paths := imagePaths(text); len(paths) > 0 {
		m.attachFiles(text, paths)
		return
	}
	m.input.Paste(text)
	m.edited()
}

// keepTicking schedules the next tick while something moves.
func (m *screen) keepTicking() {
	if m.turn != nil && !m.o.NoAnimation && !m.ticking {
		m.ticking = true
		m.h.after(tickEvery, tickMsg{})
	}
}

// submit runs text as a turn, or queues it during another turn.
func (m *screen) submit(text string) {
	m.transcript.Scrolled = false
	if m.turn != nil {
		m.queued = append(m.queued, text)
		return
	}
	m.transcript.Add(&blocks.Prompt{Text: text})
	m.begin(text, &text)
}

// begin starts a turn; a nil text is the start of the session.
func (m *screen) begin(shown string, text *string) {
	m.turns++
	id := m.turns
	t := &turn{id: id, text: shown, started: m.h.now()}
	m.turn, m.answer = t, answerState{}
	t.cancel = m.h.spawn(func(ctx context.Context) {
		defer m.h.box.post(turnEnded{id})
		events := m.o.Session.Start
		if text != nil {
			events = func(ctx context.Context) iter.Seq[interactive.Event] { return m.o.Session.Submit(ctx, *text) }
		}
		for e := range events(ctx) {
			m.h.box.post(turnEvent{id, e})
		}
	})
}

// endTurn ends the turn and starts the next queued one. Inputs queued behind a
// cancelled turn return to the input.
func (m *screen) endTurn() {
	ending := m.turn.ending
	m.turn.cancel()
	if !ending && len(m.queued) == 0 && m.h.now().Sub(m.turn.started) >= longTurn {
		m.notify("the turn has ended")
	}
	m.turn = nil
	m.quitArmed = false
	m.answer.close()
	for _, c := range m.calls {
		c.Stop()
	}
	m.status = m.o.Session.Status()
	if len(m.queued) == 0 || m.quitting {
		return
	}
	if ending {
		if m.history.recalling() { // text typed after the queued inputs is the draft
			m.input.Set(m.history.draft())
		}
		back := strings.Join(m.queued, "\n")
		if m.input.Text() != "" {
			back += "\n" + m.input.Text()
		}
		m.queued = nil
		m.input.Set(back)
		return
	}
	next := m.queued[0]
	m.queued = m.queued[1:]
	m.submit(next)
}

// cancelTurn cancels the turn. It returns false if no turn runs or it is already ending.
func (m *screen) cancelTurn() bool {
	if m.turn == nil || m.turn.ending {
		return false
	}
	m.turn.ending = true
	m.turn.cancel()
	return true
}

func (m *screen) note(level interactive.Level, text string) {
	m.transcript.Add(&blocks.Note{Level: level, Text: text})
}

// scroll moves the pager, the list, the dialog or the conversation by rows.
func (m *screen) scroll(n int) {
	if q := m.question(); q != nil {
		q.dialog.Scroll(n)
		return
	}
	if m.pager != nil {
		m.pager.Scroll(n)
		return
	}
	if m.picker != nil {
		m.picker.Scroll(n)
		m.preview()
		return
	}
	m.transcript.Scroll(n, m.layout().transcript, m.style())
}

func (m *screen) style() blocks.Style {
	return blocks.Style{Columns: m.width, Detail: m.detail, Theme: m.look, Wide: m.width >= diffview.TwoColumns, Colours: m.colours, Pass: m.pass}
}

// spinning returns the current spinner frame.
func (m *screen) spinning() string {
	if m.o.NoAnimation {
		return "◌"
	}
	return m.spin.View()
}

// workingLine shows the activity, its duration, and how to cancel it.
func (m *screen) workingLine() string {
	t := m.turn
	if t == nil {
		return ""
	}
	what := t.working
	switch {
	case t.ending:
		what = "Cancelling"
	case !m.o.NoAnimation && t.again.After(m.h.now()):
		what = "Retrying the model in " + blocks.Duration(t.again.Sub(m.h.now())+time.Second-1)
	case what == "" && t.text == "":
		what = "Starting"
	case what == "":
		what = "Working"
	}
	text := display.Line(what) + "…"
	if d := m.h.now().Sub(t.started); !m.o.NoAnimation && d >= time.Second {
		text += " " + blocks.Duration(d)
	}
	if !t.ending {
		text += " · " + keymap.Short(keymap.Input, keymap.CancelWork) + " cancels"
	}
	if n := len(m.questions); n > 0 && m.question() == nil {
		text += " · a request waits until you pause"
	}
	return m.o.Theme.Accent.Render(m.spinning()) + " " + m.o.Theme.Dim.Render(display.Cut(text, m.width-2, "…"))
}
