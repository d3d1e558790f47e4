//go:build cluster

package cluster_test

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// sweep returns the live Job of the sweep.
func (i *installation) sweep(t *testing.T) *batchv1.Job {
	t.Helper()
	job, err := i.BatchV1().Jobs(i.namespace).Get(i.ctx, "sweep", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// startAgain replaces the Job of the sweep, as kubectl replace --force does, and waits until it is
// complete.
func (i *installation) startAgain(t *testing.T) {
	t.Helper()
	before := i.sweep(t)
	for _, object := range i.objects {
		if object.GetKind() == "Job" {
			i.removeAll(t, []*unstructured.Unstructured{object})
			i.applyAll(t, []*unstructured.Unstructured{object})
		}
	}
	if i.sweep(t).UID == before.UID {
		t.Errorf("Job/%s: it is the same", before.Name)
	}
	i.settle(t, "start the sweep again")
}

// admit starts a Job that waits in a queue, as Kueue does.
func (i *installation) admit(t *testing.T) {
	t.Helper()
	i.await(t, "Job/sweep is suspended", func() error {
		if job := i.sweep(t); !hasCondition(*job, batchv1.JobSuspended) {
			return fmt.Errorf("conditions %v", job.Status.Conditions)
		}
		return nil
	})
	if _, err := i.BatchV1().Jobs(i.namespace).Patch(i.ctx, "sweep", types.MergePatchType, []byte(`{"spec": {"suspend": false}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// exits ends pods of the sweep in each way that docs/kubernetes.md lists, and waits for what their
// Jobs do then.
func (i *installation) exits(t *testing.T) {
	t.Helper()
	disrupted := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"}
	tests := []struct {
		name     string
		code     int32
		evicted  bool
		failed   bool  // the Job, at once
		attempts int32 // that count up to backoffLimit, of a Job that starts another pod
	}{
		{name: "exit-1", code: 1, failed: true},
		{name: "exit-2", code: 2, failed: true},
		{name: "exit-3", code: 3, failed: true},
		{name: "evicted", code: 143, evicted: true},
		{name: "killed", code: 137, attempts: 1},
	}
	for _, test := range tests {
		// No scheduler places their pods, so kwok leaves them alone.
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: test.name, Labels: i.sweep(t).Labels}}
		i.template(t, job)
		job.Spec.Template.Spec.SchedulerName = "nobody"
		if _, err := i.BatchV1().Jobs(i.namespace).Create(i.ctx, job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		ended := i.pod(t, test.name, "")
		ended.Status.Phase = corev1.PodFailed
		ended.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "toolsandbox", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: test.code}},
		}}
		if test.evicted {
			ended.Status.Conditions = append(ended.Status.Conditions, disrupted)
		}
		if _, err := i.CoreV1().Pods(i.namespace).UpdateStatus(i.ctx, ended, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if !test.failed {
			i.pod(t, test.name, ended.Name)
		}
		i.await(t, "Job/"+test.name, func() error {
			job, err := i.BatchV1().Jobs(i.namespace).Get(i.ctx, test.name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if hasCondition(*job, batchv1.JobFailed) != test.failed || !test.failed && job.Status.Failed != test.attempts {
				return fmt.Errorf("%d attempts, conditions %v, want failed %t and %d attempts", job.Status.Failed, job.Status.Conditions, test.failed, test.attempts)
			}
			return nil
		})
		background := metav1.DeletePropagationBackground
		if err := i.BatchV1().Jobs(i.namespace).Delete(i.ctx, test.name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
			t.Fatal(err)
		}
	}
}

// template gives a Job the specification of the sweep's manifest.
func (i *installation) template(t *testing.T, job *batchv1.Job) {
	t.Helper()
	for _, object := range i.objects {
		if object.GetKind() != "Job" {
			continue
		}
		var manifest batchv1.Job
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &manifest); err != nil {
			t.Fatal(err)
		}
		job.Spec = manifest.Spec
	}
}

// pod waits for a pod of a Job that has not ended, and has another name.
func (i *installation) pod(t *testing.T, job, other string) *corev1.Pod {
	t.Helper()
	var found *corev1.Pod
	i.await(t, "pod of Job/"+job, func() error {
		pods, err := i.CoreV1().Pods(i.namespace).List(i.ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
		if err != nil {
			return err
		}
		for n := range pods.Items {
			if pod := &pods.Items[n]; !done(*pod) && pod.Name != other {
				found = pod
				return nil
			}
		}
		return fmt.Errorf("no pod but %d that have ended", len(pods.Items))
	})
	return found
}
