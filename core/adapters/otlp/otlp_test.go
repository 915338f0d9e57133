package otlp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/fettle-dev/fettle/core/adapters/otlp"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/script"
	"github.com/fettle-dev/fettle/core/telemetry"
)

const key = "sk-header-0123456789"

// collector stores the data that it receives by HTTP or gRPC.
type collector struct {
	collecttrace.UnimplementedTraceServiceServer

	mu       sync.Mutex
	spans    []string
	services []string
	metrics  []string
	keys     []string // of each request
}

func (c *collector) trace(key string, r *collecttrace.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = append(c.keys, key)
	for _, about := range r.ResourceSpans {
		for _, a := range about.Resource.Attributes {
			if a.Key == "service.name" {
				c.services = append(c.services, a.Value.GetStringValue())
			}
		}
		for _, scope := range about.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, s.Name)
			}
		}
	}
}

func (c *collector) metric(key string, r *collectmetrics.ExportMetricsServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = append(c.keys, key)
	for _, about := range r.ResourceMetrics {
		for _, scope := range about.ScopeMetrics {
			for _, m := range scope.Metrics {
				c.metrics = append(c.metrics, m.Name)
			}
		}
	}
}

// ServeHTTP receives OTLP over HTTP, below a path.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "no protocol buffers", http.StatusBadRequest)
		return
	}
	var traces collecttrace.ExportTraceServiceRequest
	var metrics collectmetrics.ExportMetricsServiceRequest
	switch {
	case r.URL.Path == "/base/v1/traces" && proto.Unmarshal(body, &traces) == nil:
		c.trace(r.Header.Get("x-key"), &traces)
	case r.URL.Path == "/base/v1/metrics" && proto.Unmarshal(body, &metrics) == nil:
		c.metric(r.Header.Get("x-key"), &metrics)
	default:
		http.NotFound(w, r)
	}
}

func keyOf(ctx context.Context) string {
	md, _ := metadata.FromIncomingContext(ctx)
	return strings.Join(md.Get("x-key"), ",")
}

// Export receives spans over gRPC.
func (c *collector) Export(ctx context.Context, r *collecttrace.ExportTraceServiceRequest) (*collecttrace.ExportTraceServiceResponse, error) {
	c.trace(keyOf(ctx), r)
	return &collecttrace.ExportTraceServiceResponse{}, nil
}

// metricService receives metrics over gRPC.
type metricService struct {
	collectmetrics.UnimplementedMetricsServiceServer
	*collector
}

func (m metricService) Export(ctx context.Context, r *collectmetrics.ExportMetricsServiceRequest) (*collectmetrics.ExportMetricsServiceResponse, error) {
	m.metric(keyOf(ctx), r)
	return &collectmetrics.ExportMetricsServiceResponse{}, nil
}

// serve returns the address of a collector.
func serve(t *testing.T, c *collector, protocol otlp.Protocol) string {
	t.Helper()
	if protocol == otlp.ProtocolHTTP {
		server := httptest.NewServer(c)
		t.Cleanup(server.Close)
		return server.URL + "/base/"
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	collecttrace.RegisterTraceServiceServer(server, c)
	collectmetrics.RegisterMetricsServiceServer(server, metricService{collector: c})
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	return "http://" + listener.Addr().String()
}

// converse runs a conversation that the providers record.
func converse(t *testing.T, p *otlp.Providers) {
	t.Helper()
	observer, err := telemetry.New(telemetry.Options{TracerProvider: p.TracerProvider(), MeterProvider: p.MeterProvider()})
	require.NoError(t, err)
	lines, err := script.Parse("test.json", []byte(`{"turns": [{"text": "Hello, world."}]}`))
	require.NoError(t, err)
	c, err := agent.New(agent.Options{
		Source: model.Always(script.New(lines, script.Options{})), Model: func() string { return "script:demo" }, Observer: observer,
	})
	require.NoError(t, err)
	var last agent.Event
	for last = range c.Run(t.Context(), model.TextPart("Say hello.")) {
		continue
	}
	require.Equal(t, agent.EventDone, last.Type)
}

// A conversation arrives at a real server, with its headers and its attributes.
func TestSends(t *testing.T) {
	for _, protocol := range []otlp.Protocol{otlp.ProtocolHTTP, otlp.ProtocolGRPC, ""} {
		t.Run(string(protocol), func(t *testing.T) {
			c := &collector{}
			p, err := otlp.New(t.Context(), otlp.Options{
				Endpoint: serve(t, c, protocol), Protocol: protocol, Headers: map[string]string{"x-key": key},
				Resource: []attribute.KeyValue{attribute.String("service.name", "fettle")},
				OnError:  func(err error) { t.Error(err) },
			})
			require.NoError(t, err)
			converse(t, p)
			require.NoError(t, p.Shutdown(t.Context()))
			require.NoError(t, p.Shutdown(t.Context()), "again")
			c.mu.Lock()
			defer c.mu.Unlock()
			require.ElementsMatch(t, []string{"invoke_agent fettle", "turn", "chat demo"}, c.spans)
			require.Equal(t, []string{"fettle"}, c.services)
			require.Contains(t, c.metrics, "gen_ai.client.token.usage")
			require.Contains(t, c.metrics, "fettle.turn.duration")
			require.Equal(t, []string{key, key}, c.keys)
		})
	}
}

// A collector that refuses, or is unreachable, has no effect on the session; the
// failure is reported once, printed nowhere, and without the key that the collector
// repeats.
func TestFailures(t *testing.T) {
	var printed bytes.Buffer
	log.SetOutput(&printed)
	defer log.SetOutput(os.Stderr)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "the key "+r.Header.Get("x-key")+" is wrong", http.StatusUnauthorized)
	}))
	defer refusing.Close()
	unknown := httptest.NewUnstartedServer(&collector{})
	unknown.Config.ErrorLog = log.New(io.Discard, "", 0)
	unknown.StartTLS() // with an untrusted certificate
	defer unknown.Close()
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	for name, address := range map[string]string{"refuses": refusing.URL, "is away": away.URL, "is not known": unknown.URL} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var reported []error
			p, err := otlp.New(t.Context(), otlp.Options{Endpoint: address, Protocol: otlp.ProtocolHTTP, Headers: map[string]string{"x-key": key},
				OnError: func(err error) {
					mu.Lock()
					defer mu.Unlock()
					reported = append(reported, err)
					panic("a mistake of the host's")
				}})
			require.NoError(t, err)
			converse(t, p)
			err = p.Shutdown(t.Context())
			require.Equal(t, fault.ExecutionFailed, fault.CodeOf(err))
			require.NotContains(t, fmt.Sprintf("%v %+v", err, fault.As(err).Err), key)
			require.Equal(t, []error{err}, reported)
		})
	}
	require.Empty(t, printed.String())
}

// A collector that does not answer delays the end only within the limit.
func TestShutdownIsBounded(t *testing.T) {
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer silent.Close()
	defer close(release)
	p, err := otlp.New(t.Context(), otlp.Options{Endpoint: silent.URL, Protocol: otlp.ProtocolHTTP})
	require.NoError(t, err)
	converse(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Equal(t, fault.ExecutionFailed, fault.CodeOf(p.Shutdown(ctx)))
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]otlp.Options{
		"no address":         {},
		"no URL":             {Endpoint: "localhost:4317"},
		"another scheme":     {Endpoint: "ftp://localhost"},
		"a password":         {Endpoint: "http://user:" + key + "@localhost"},
		"a query":            {Endpoint: "http://localhost?key=" + key},
		"another protocol":   {Endpoint: "http://localhost", Protocol: "http/json"},
		"a path within gRPC": {Endpoint: "http://localhost/x"},
		"broken":             {Endpoint: "http://[" + key},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := otlp.New(t.Context(), o)
			require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
			require.NotEmpty(t, fault.As(err).Remedy)
			require.NotContains(t, err.Error(), key)
		})
	}
}
