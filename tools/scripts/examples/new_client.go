package grpc

// NewClient is Dial in versions before 1.63.
func NewClient(target string, options ...DialOption) (*ClientConn, error) {
	return Dial(target, options...)
}
