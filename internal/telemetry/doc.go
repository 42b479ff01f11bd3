// Package telemetry counts what the program does, for Prometheus.
//
// It owns the metrics' names, labels and buckets. Labels have few values: no ids
// of chats, people or messages. It must not know who calls it or how anything is
// stored. Every method works on a nil [*Metrics] and then does nothing.
package telemetry
