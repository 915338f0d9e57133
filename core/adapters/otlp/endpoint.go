package otlp

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/fettle-dev/fettle/core/fault"
)

// endpoint is the parsed address of a collector.
type endpoint struct {
	host     string // with the port
	path     string // without a slash at its end
	plain    bool   // without TLS
	protocol Protocol
	headers  map[string]string
}

// parse checks the address and the protocol.
func parse(o Options) (*endpoint, error) {
	refuse := func(message, remedy string) (*endpoint, error) {
		return nil, fault.New(fault.InvalidConfig, "otlp.new", message, remedy)
	}
	u, err := url.Parse(o.Endpoint)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return refuse("The collector's address is not an http or https URL.", "Example: http://localhost:4317.")
	case u.User != nil:
		return refuse("The collector's address contains a user name or password.", "Send it as a header instead.")
	case u.RawQuery != "" || u.Fragment != "":
		return refuse("The collector's address contains more than host, port and path.", "Remove the part after the path.")
	}
	e := &endpoint{host: u.Host, path: strings.TrimRight(u.Path, "/"), plain: u.Scheme == "http", protocol: o.Protocol, headers: o.Headers}
	switch e.protocol {
	case "":
		e.protocol = ProtocolGRPC
	case ProtocolGRPC, ProtocolHTTP:
	default:
		return refuse(fmt.Sprintf("Unknown protocol %q.", string(o.Protocol)), "Use grpc or http.")
	}
	if e.protocol == ProtocolGRPC && e.path != "" {
		return refuse("The collector's address has a path, which gRPC does not use.", "Remove it, or use the protocol http.")
	}
	return e, nil
}

// spans creates the exporter of spans.
func (e *endpoint) spans(ctx context.Context) (sdktrace.SpanExporter, error) {
	if e.protocol == ProtocolHTTP {
		o := []otlptracehttp.Option{otlptracehttp.WithEndpoint(e.host), otlptracehttp.WithURLPath(e.path + "/v1/traces"), otlptracehttp.WithHeaders(e.headers)}
		if e.plain {
			o = append(o, otlptracehttp.WithInsecure())
		}
		return otlptracehttp.New(ctx, o...)
	}
	o := []otlptracegrpc.Option{otlptracegrpc.WithEndpoint(e.host), otlptracegrpc.WithHeaders(e.headers)}
	if e.plain {
		o = append(o, otlptracegrpc.WithInsecure())
	}
	return otlptracegrpc.New(ctx, o...)
}

// metrics creates the exporter of metrics.
func (e *endpoint) metrics(ctx context.Context) (sdkmetric.Exporter, error) {
	if e.protocol == ProtocolHTTP {
		o := []otlpmetrichttp.Option{otlpmetrichttp.WithEndpoint(e.host), otlpmetrichttp.WithURLPath(e.path + "/v1/metrics"), otlpmetrichttp.WithHeaders(e.headers)}
		if e.plain {
			o = append(o, otlpmetrichttp.WithInsecure())
		}
		return otlpmetrichttp.New(ctx, o...)
	}
	o := []otlpmetricgrpc.Option{otlpmetricgrpc.WithEndpoint(e.host), otlpmetricgrpc.WithHeaders(e.headers)}
	if e.plain {
		o = append(o, otlpmetricgrpc.WithInsecure())
	}
	return otlpmetricgrpc.New(ctx, o...)
}
