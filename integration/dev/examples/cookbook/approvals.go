package cookbook

// code: approvals
import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/fettle-dev/fettle/core/bus"
)

// approvals serves open questions by GET, and takes an answer by POST. Serve it behind your sign-in.
func approvals(ctx context.Context, b *bus.MessageBus) http.Handler {
	var open sync.Map // question by correlation ID
	bus.Subscribe(ctx, b, func(_ context.Context, q bus.ToolConfirmationRequest) { open.Store(q.CorrelationID, q) })
	bus.Subscribe(ctx, b, func(_ context.Context, a bus.ToolConfirmationResponse) { open.Delete(a.CorrelationID) })
	mux := http.NewServeMux()
	mux.HandleFunc("GET /questions", func(w http.ResponseWriter, _ *http.Request) {
		list := []any{}
		open.Range(func(_, q any) bool { list = append(list, q); return true })
		_ = json.NewEncoder(w).Encode(list)
	})
	mux.HandleFunc("POST /questions/{id}", func(w http.ResponseWriter, r *http.Request) {
		if _, found := open.LoadAndDelete(r.PathValue("id")); !found { // another approver was faster
			http.Error(w, "The question is not open.", http.StatusConflict)
			return
		}
		answer := bus.ToolConfirmationResponse{CorrelationID: r.PathValue("id"), Outcome: bus.Cancel}
		if r.FormValue("answer") == "yes" {
			answer.Confirmed, answer.Outcome = true, bus.ProceedOnce
		}
		if err := b.Publish(answer); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	return http.NewCrossOriginProtection().Handler(mux)
}

// code: end
