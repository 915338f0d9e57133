// Program webfiles serves the files of a directory for editing on 127.0.0.1: webfiles DIR PORT.
package main

import (
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/files"
)

func main() {
	dir, err := files.Open(os.Args[1], files.Options{})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[2], editor(dir)))
}

// code: editor
// editor serves files by GET and replaces them by PUT. The ETag is the hash; a PUT proves its base by
// If-Match, or creates a file by If-None-Match: *. A stale PUT has status 412.
func editor(dir *files.Dir) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{name...}", func(w http.ResponseWriter, r *http.Request) {
		file, err := dir.Read(r.Context(), r.PathValue("name"))
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("ETag", `"`+file.SHA256+`"`)
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(file.Data)
	})
	mux.HandleFunc("PUT /{name...}", func(w http.ResponseWriter, r *http.Request) {
		base := files.File{Name: r.PathValue("name"), SHA256: strings.Trim(r.Header.Get("If-Match"), `"`)}
		if base.SHA256 == "" && r.Header.Get("If-None-Match") != "*" {
			http.Error(w, "Send If-Match with the ETag of a GET, or If-None-Match: *.", http.StatusPreconditionRequired)
			return
		}
		data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 20<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		file, err := dir.Write(r.Context(), base, data)
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("ETag", `"`+file.SHA256+`"`)
		w.WriteHeader(http.StatusNoContent)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host, _, _ := net.SplitHostPort(r.Host); host != "127.0.0.1" { // a web page under another name
			http.Error(w, "Use the address 127.0.0.1.", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// fail answers with the status of an error's code, and its message and remedy.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch fault.CodeOf(err) {
	case fault.FileChangedSinceRead, fault.AttemptToCreateExist:
		status = http.StatusPreconditionFailed
	case fault.FileNotFound:
		status = http.StatusNotFound
	case fault.PathNotInWorkspace, fault.PermissionDenied, fault.NotARegularFile, fault.TargetIsDirectory:
		status = http.StatusForbidden
	case fault.FileTooLarge:
		status = http.StatusRequestEntityTooLarge
	}
	http.Error(w, fault.As(err).Text(), status)
}

// code: end
