// Package insecure backports the function that docs/grpc-clients.md calls from a newer version of the library.
package insecure

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"
)

type plain struct{}

// NewCredentials returns credentials that do not secure the connection.
func NewCredentials() credentials.TransportCredentials { return plain{} }

func (plain) ClientHandshake(_ context.Context, _ string, connection net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return connection, nil, nil
}

func (plain) ServerHandshake(connection net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return connection, nil, nil
}

func (plain) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "insecure"}
}

func (plain) Clone() credentials.TransportCredentials { return plain{} }

func (plain) OverrideServerName(string) error { return nil }
