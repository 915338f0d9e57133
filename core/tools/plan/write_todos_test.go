package plan_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/plan"
)

func todo(description, status string) args { return args{"description": description, "status": status} }

// TO-18, AR-18: each call replaces the list, and an empty one clears it.
func TestWriteTodos(t *testing.T) {
	s := newSession(t)
	r := s.Call(plan.WriteTodos, args{"todos": []args{todo("Read\nthe code", "completed"), todo("Change it", "in_progress"), todo("Test it", "pending"), todo("Ask", "cancelled")}})
	require.Equal(t, "The list of todos is now:\n1. [completed] Read the code\n2. [in_progress] Change it\n3. [pending] Test it\n4. [cancelled] Ask", succeed(t, r))
	want := []tools.Todo{
		{Description: "Read\nthe code", Status: tools.TodoCompleted}, {Description: "Change it", Status: tools.TodoInProgress},
		{Description: "Test it", Status: tools.TodoPending}, {Description: "Ask", Status: tools.TodoCancelled},
	}
	require.Equal(t, want, s.todos.List())
	require.Equal(t, want, r.Result.ReturnDisplay.Todo.Todos)

	succeed(t, s.Call(plan.WriteTodos, args{"todos": []args{todo("Rest", "pending")}}))
	require.Equal(t, []tools.Todo{{Description: "Rest", Status: tools.TodoPending}}, s.todos.List())

	r = s.Call(plan.WriteTodos, args{"todos": []args{}})
	require.Equal(t, "The list of todos is now empty.", succeed(t, r))
	require.Empty(t, s.todos.List())
	display, err := json.Marshal(r.Result.ReturnDisplay)
	require.NoError(t, err)
	require.Equal(t, `{"todos":[]}`, string(display))
	require.Empty(t, s.Confirmations())
}

// AR-18: a rejected list leaves the previous one unchanged.
func TestWriteTodosRefuses(t *testing.T) {
	s := newSession(t, in(policy.ModePlan)) // it changes no files, so plan mode allows it
	succeed(t, s.Call(plan.WriteTodos, args{"todos": []args{todo("Kept", "in_progress")}}))
	for want, list := range map[string]any{
		"blocked":                             []args{todo("a", "blocked")},
		"todos[0].status":                     []args{todo("a", "")},
		`todos[1]: the required key "status"`: []args{todo("a", "pending"), {"description": "b"}},
		`unknown key "priority"`:              []args{{"description": "a", "status": "pending", "priority": 1}},
		"todos[1]: the description is blank":  []args{todo("a", "pending"), todo("\t", "pending")},
		"todos[0] and todos[2] are both":      []args{todo("a", "in_progress"), todo("b", "pending"), todo("c", "in_progress")},
		"expected array":                      7,
		"todos":                               nil,
	} {
		r := s.Call(plan.WriteTodos, args{"todos": list})
		require.Equal(t, scheduler.StatusError, r.Status, want)
		require.Equal(t, fault.InvalidToolParams, r.Result.Error.Code, want)
		require.Contains(t, r.Result.Error.Message, want)
		require.Equal(t, []tools.Todo{{Description: "Kept", Status: tools.TodoInProgress}}, s.todos.List())
	}
}

// The list is a copy, safe for concurrent use.
func TestTodos(t *testing.T) {
	var kept plan.Todos
	require.Nil(t, kept.List())
	list := []tools.Todo{{Description: "a", Status: tools.TodoPending}}
	kept.Set(list)
	list[0].Description = "changed"
	kept.List()[0].Description = "changed"
	require.Equal(t, []tools.Todo{{Description: "a", Status: tools.TodoPending}}, kept.List())
	kept.Clear()
	require.Nil(t, kept.List())

	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			for range 100 {
				same := tools.Todo{Description: fmt.Sprint(i)}
				kept.Set([]tools.Todo{same, same})
				if got := kept.List(); len(got) != 2 || got[0] != got[1] {
					t.Errorf("a list of two calls: %v", got)
				}
			}
		})
	}
	running.Wait()
}
