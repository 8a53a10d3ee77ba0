package flower_test

import (
	"testing"

	"flower"
	"flower/internal/storetest"
)

func TestMemoryStore(t *testing.T) {
	storetest.Run(t, storetest.Backend{
		New: func(_ *testing.T, workspace string) flower.Store { return flower.NewMemoryStore(workspace) },
		View: func(_ *testing.T, s flower.Store, workspace string) flower.Store {
			return s.(interface{ In(string) flower.Store }).In(workspace)
		},
	})
}
