package keys

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// prefix begins the subjects of the hub.
const prefix = "fettle.v1."

// Inbox returns the prefix of a user's replies, which only the user receives.
func Inbox(name string) string { return "_INBOX_" + name }

// Permissions are the subjects that a user may publish to and receive.
type Permissions struct {
	Publish, Subscribe []string
	// Replies is the number of replies to one request that the user may send, and ReplyTime the
	// time for them. 0: none.
	Replies   int
	ReplyTime time.Duration
}

// PermissionsOf returns the permissions of a user.
func PermissionsOf(u User) Permissions {
	if u.Has(Admin) {
		return Permissions{Publish: []string{">"}, Subscribe: []string{">"}}
	}
	p := Permissions{Subscribe: []string{Inbox(u.Name) + ".>"}}
	api := func(requests ...string) {
		for _, r := range requests {
			p.Publish = append(p.Publish, prefix+"api."+r+"."+u.Name)
		}
	}
	if u.Has(Submitter) {
		api("submit", "cancel", "jobs", "logs", "restore")
	}
	if u.Has(Approver) {
		p.Publish = append(p.Publish, prefix+"answer.*.*."+u.Name)
	}
	if u.Has(Approver) || u.Has(Viewer) {
		api("jobs", "logs", "ledger")
		p.Publish = append(p.Publish, prefix+"hello")
		p.Subscribe = append(p.Subscribe, prefix+"event.>", prefix+"ask.>")
	}
	if u.Has(Worker) {
		p = worker(u)
	}
	slices.Sort(p.Publish)
	p.Publish = slices.Compact(p.Publish)
	return p
}

// worker returns the permissions of a worker: its own workspace in the queue and the states, its
// own ledger, and the sessions of its workspace. It cannot answer and cannot submit.
func worker(u User) Permissions {
	w := u.Workspace
	return Permissions{
		Publish: []string{
			prefix + "event." + w + ".*", prefix + "ask." + w + ".*", prefix + "log." + w + ".*", prefix + "ledger." + u.Name,
			"$KV.FETTLE_LEASE." + w, "$KV.FETTLE_STATE." + w + ".*",
			"$JS.API.STREAM.INFO.FETTLE_JOBS", "$JS.API.STREAM.INFO.KV_FETTLE_LEASE", "$JS.API.STREAM.INFO.KV_FETTLE_STATE", "$JS.API.STREAM.INFO.KV_FETTLE_CANCEL", "$JS.API.STREAM.INFO.FETTLE_LEDGER",
			"$JS.API.DIRECT.GET.KV_FETTLE_LEASE.$KV.FETTLE_LEASE." + w, "$JS.API.DIRECT.GET.KV_FETTLE_STATE.$KV.FETTLE_STATE." + w + ".*", "$JS.API.DIRECT.GET.KV_FETTLE_CANCEL.$KV.FETTLE_CANCEL.*",
			"$JS.API.DIRECT.GET.FETTLE_LEDGER." + prefix + "ledger." + u.Name,
			"$JS.API.CONSUMER.CREATE.FETTLE_JOBS." + w + "." + prefix + "job." + w, "$JS.API.CONSUMER.INFO.FETTLE_JOBS." + w, "$JS.API.CONSUMER.MSG.NEXT.FETTLE_JOBS." + w,
			"$JS.ACK.FETTLE_JOBS." + w + ".>",
		},
		Subscribe: []string{Inbox(u.Name) + ".>", prefix + "answer." + w + ".>", prefix + "hello", prefix + "cancel." + w},
		Replies:   1, ReplyTime: time.Minute,
	}
}

// Configuration returns the authorization block of users for the configuration of a NATS server.
func Configuration(users []User) string {
	var b strings.Builder
	b.WriteString("authorization {\n  users = [\n")
	list := func(subjects []string) string {
		quoted := make([]string, len(subjects))
		for i, s := range subjects {
			quoted[i] = fmt.Sprintf("%q", s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	for _, u := range users {
		p := PermissionsOf(u)
		fmt.Fprintf(&b, "    # %s\n    { nkey: %s, permissions: { publish: { allow: %s }, subscribe: { allow: %s }", u.Name, u.Key, list(p.Publish), list(p.Subscribe))
		if p.Replies > 0 {
			fmt.Fprintf(&b, ", allow_responses: { max: %d, expires: %q }", p.Replies, p.ReplyTime)
		}
		b.WriteString(" } }\n")
	}
	b.WriteString("  ]\n}\n")
	return b.String()
}
