package manifest

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ScaledObject has the fields of KEDA's ScaledObject, version 2, that these manifests use, so that
// a mistyped one is an error. The package with all of them needs 330 others, for its webhook.
type ScaledObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ScaleTargetRef struct {
			Name string `json:"name"` // of a Deployment
		} `json:"scaleTargetRef"`
		MinReplicaCount int32 `json:"minReplicaCount"`
		MaxReplicaCount int32 `json:"maxReplicaCount"`
		Advanced        struct {
			HorizontalPodAutoscalerConfig struct {
				Behavior autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior"`
			} `json:"horizontalPodAutoscalerConfig"`
		} `json:"advanced"`
		Triggers []struct {
			Type     string `json:"type"`
			Metadata struct {
				ServerAddress    string `json:"serverAddress"`
				Query            string `json:"query"`
				Threshold        string `json:"threshold"`
				IgnoreNullValues string `json:"ignoreNullValues"`
			} `json:"metadata"` // of the trigger prometheus
		} `json:"triggers"`
	} `json:"spec"`
}

// DeepCopyObject implements runtime.Object. Nobody changes a decoded object, so it copies no lists.
func (o *ScaledObject) DeepCopyObject() runtime.Object {
	copied := *o
	return &copied
}

func addKEDA(known *runtime.Scheme) error {
	known.AddKnownTypes(schema.GroupVersion{Group: "keda.sh", Version: "v1alpha1"}, &ScaledObject{})
	return nil
}
