package row

import setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"

// HasEffect reports whether an augmentation changes a tool in the original: it names
// ARG_NAME_SCRAMBLED, which does nothing there.
func HasEffect(augmentation setupv1.Augmentation) bool {
	return augmentation != setupv1.Augmentation_AUGMENTATION_ARG_NAME_SCRAMBLED
}
