package grpc

// NewClient backports the function from version 1.63, which replaces Dial.
func NewClient(target string, options ...DialOption) (*ClientConn, error) {
	return Dial(target, options...)
}
