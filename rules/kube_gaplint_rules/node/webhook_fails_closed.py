from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity, rescaled
from kube_gaplint.model.nodes import Webhook
from kube_gaplint.model.setting import Set
from kube_gaplint.rule import Context, rule

LONG = 10.0
"""Seconds: the API server's own default, and what a caller should wait at most."""
MADE_AGAIN = frozenset({"pods", "jobs"})
"""What controllers create when a run starts again."""


@rule(
    code="NODE009",
    name="webhook-fails-closed",
    view=Webhook,
    severity=Severity.WARNING,
    evidence=("slinky-189", "IL-0032"),
)
def check(webhook: Webhook, _context: Context) -> Iterator[Gap]:
    """When the webhook's backend is down, no training pod can be created, so no run comes back.

    ## What it flags
    A mutating or validating webhook with `failurePolicy: Fail` (the default) on the creation of pods or Jobs that
    covers every namespace and object, or whose `timeoutSeconds` is above 10. A selector that leaves out system
    namespaces alone covers the training ones. Info where the Deployment behind it has two or more replicas, and where
    the configuration also admits custom resources that are no jobs: it came with an operator such as Kueue, without
    which the jobs do not start either. Quiet for opt-in selectors (but for a long timeout where a namespace in the
    given paths carries the label), for match conditions, and for webhooks on other resources.

    ## Why it hurts
    The webhook of the Slurm operator failed closed for the binding of every pod: when the node that ran it
    rebooted, nothing in the cluster could be placed any more (slurm-operator, issue 189). A mutating webhook of
    Airbnb made a patch that failed, so that lost pods were not replaced: half the pods of a service were gone, and
    for 7 days nobody saw it. The restart of a training run creates all its pods at once, and often the backend
    stood on the very node that failed.

    ## Bad
    ```yaml
    apiVersion: admissionregistration.k8s.io/v1
    kind: MutatingWebhookConfiguration
    metadata: {name: pod-defaults}
    webhooks:
    - name: pod-defaults.example.com
      admissionReviewVersions: [v1]
      sideEffects: None
      clientConfig: {service: {name: pod-defaults, namespace: platform}}
      failurePolicy: Fail
      rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
    ```

    ## Good
    ```yaml
    apiVersion: admissionregistration.k8s.io/v1
    kind: MutatingWebhookConfiguration
    metadata: {name: pod-defaults}
    webhooks:
    - name: pod-defaults.example.com
      admissionReviewVersions: [v1]
      sideEffects: None
      clientConfig: {service: {name: pod-defaults, namespace: platform}}
      failurePolicy: Fail
      timeoutSeconds: 5
      namespaceSelector: {matchLabels: {pod-defaults: enabled}}
      rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
    ```

    ## When to keep it
    A security policy must not be passed over: then run several replicas, spread over nodes.

    ## Fix safety
    Unsafe: a long timeout is shortened. The namespaces are left to you: with a selector, or with `Ignore`, pods are
    created that the webhook has not seen.

    ## References
    - https://kubernetes.io/docs/concepts/cluster-administration/admission-webhooks-good-practices/
    - https://github.com/SlinkyProject/slurm-operator/issues/189
    """
    targets = [name for name in webhook.targets if name in MADE_AGAIN]
    if not targets or not webhook.on_create or webhook.match_conditions:
        return
    policy, seconds = webhook.failure_policy, webhook.timeout_seconds
    if not isinstance(policy, Set) or policy.value != "Fail":
        return
    slow = isinstance(seconds, Set) and seconds.value > LONG
    if not webhook.covers_everything and (not slow or webhook.opt_in):
        return
    where = "of the namespaces that it selects"
    if webhook.covers_everything:
        where = "outside of system namespaces" if webhook.excludes_system_only else "of every namespace"
    several = isinstance(webhook.replicas, Set) and webhook.replicas.value > 1
    waits = f", after {seconds.value:.0f} s each" if isinstance(seconds, Set) and slow else ""
    yield Gap(
        webhook.origin,
        f"webhook {webhook.name}: {' and '.join(targets)} {where} are refused when its backend fails{waits}",
        "after a node failure no controller can create the pods of a run again while the backend is down",
        detail="fails-closed",
        severity=Severity.INFO if several or webhook.of_operator else Severity.WARNING,
        related=_related(webhook),
        fix=_fix(webhook),
    )


def _fix(webhook: Webhook) -> Fix:
    """Which namespaces need a webhook, nobody but its owner can say; how long it is waited for, is only a number."""
    seconds = webhook.timeout_seconds
    if webhook.covers_everything or not isinstance(seconds, Set):
        return Fix("select the namespaces that need it, keep timeoutSeconds at 10 or below, or run several replicas")
    return Fix(f"set timeoutSeconds: {LONG:.0f}", rescaled(seconds.origin, seconds.value, LONG))


def _related(webhook: Webhook) -> tuple[Related, ...]:
    found = []
    if isinstance(webhook.replicas, Set):
        count = webhook.replicas.value
        found.append(Related(webhook.replicas.origin, f"{count} replica{'' if count == 1 else 's'} behind it"))
    if isinstance(webhook.namespace_selector, Set) and webhook.excludes_system_only:
        found.append(Related(webhook.namespace_selector.origin, "it leaves out system namespaces alone"))
    return tuple(found)
