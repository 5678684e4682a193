"""What Kustomize knows by itself: merge keys, the fields that its transformers touch, and cluster-scoped kinds.

Read from kubernetes-sigs/kustomize: kyaml/openapi (its built-in schema is that of Kubernetes 1.21) and
api/internal/konfig/builtinpluginconsts.
"""

from __future__ import annotations

from msgspec import Struct


class ListField(Struct, frozen=True):
    """A list that a strategic merge patch merges. `keys` identify an element; none for a list of scalars. `item` is
    the type of the elements, empty where it holds no such list itself."""

    keys: tuple[str, ...]
    item: str = ""


_NAMED = ListField(("name",))

TYPES: dict[str, dict[str, str | ListField]] = {
    # A field leads to another type of this table, or is a merged list. All other lists are replaced as a whole.
    "ObjectMeta": {"finalizers": ListField(()), "ownerReferences": ListField(("uid",))},
    "Plain": {"metadata": "ObjectMeta"},
    "Pod": {"metadata": "ObjectMeta", "spec": "PodSpec"},
    "PodTemplateObject": {"metadata": "ObjectMeta", "template": "Pod"},
    "PodSpec": {
        "containers": ListField(("name",), "Container"),
        "initContainers": ListField(("name",), "Container"),
        "ephemeralContainers": ListField(("name",), "EphemeralContainer"),
        "volumes": ListField(("name",), "Volume"),
        "imagePullSecrets": _NAMED,
        "hostAliases": ListField(("ip",)),
        "topologySpreadConstraints": ListField(("topologyKey", "whenUnsatisfiable")),
    },
    "Container": {
        "env": _NAMED,
        "ports": ListField(("containerPort", "protocol")),
        "volumeMounts": ListField(("mountPath",)),
        "volumeDevices": ListField(("devicePath",)),
    },
    "EphemeralContainer": {
        "env": _NAMED,
        "volumeMounts": ListField(("mountPath",)),
        "volumeDevices": ListField(("devicePath",)),
    },
    "Volume": {"ephemeral": "EphemeralVolume"},
    "EphemeralVolume": {"volumeClaimTemplate": "Plain"},
    "Templated": {"metadata": "ObjectMeta", "spec": "TemplatedSpec"},
    "TemplatedSpec": {"template": "Pod"},
    "CronJob": {"metadata": "ObjectMeta", "spec": "CronJobSpec"},
    "CronJobSpec": {"jobTemplate": "Templated"},
    "Service": {"metadata": "ObjectMeta", "spec": "ServiceSpec"},
    "ServiceSpec": {"ports": ListField(("port", "protocol"))},
    "ServiceAccount": {"metadata": "ObjectMeta", "secrets": _NAMED},
    "Webhooks": {"metadata": "ObjectMeta", "webhooks": _NAMED},
    "CSINode": {"metadata": "ObjectMeta", "spec": "CSINodeSpec"},
    "CSINodeSpec": {"drivers": _NAMED},
}

_PLAIN_KINDS = {
    "v1": "Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume "
    "PersistentVolumeClaim ResourceQuota Secret",
    "apiextensions.k8s.io/v1": "CustomResourceDefinition",
    "apiextensions.k8s.io/v1beta1": "CustomResourceDefinition",
    "apiregistration.k8s.io/v1": "APIService",
    "apiregistration.k8s.io/v1beta1": "APIService",
    "apps/v1": "ControllerRevision",
    "autoscaling/v1": "HorizontalPodAutoscaler Scale",
    "autoscaling/v2beta1": "HorizontalPodAutoscaler",
    "autoscaling/v2beta2": "HorizontalPodAutoscaler",
    "certificates.k8s.io/v1": "CertificateSigningRequest",
    "coordination.k8s.io/v1": "Lease",
    "discovery.k8s.io/v1": "EndpointSlice",
    "networking.k8s.io/v1": "Ingress IngressClass NetworkPolicy",
    "networking.k8s.io/v1beta1": "Ingress IngressClass",
    "node.k8s.io/v1": "RuntimeClass",
    "node.k8s.io/v1beta1": "RuntimeClass",
    "policy/v1": "PodDisruptionBudget",
    "policy/v1beta1": "PodDisruptionBudget PodSecurityPolicy",
    "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "rbac.authorization.k8s.io/v1beta1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "scheduling.k8s.io/v1": "PriorityClass",
    "scheduling.k8s.io/v1beta1": "PriorityClass",
    "storage.k8s.io/v1": "CSIDriver StorageClass VolumeAttachment",
    "storage.k8s.io/v1beta1": "CSIDriver CSIStorageCapacity StorageClass VolumeAttachment",
}

ROOT_TYPES: dict[tuple[str, str], str] = {
    ("v1", "Pod"): "Pod",
    ("v1", "PodTemplate"): "PodTemplateObject",
    ("v1", "ReplicationController"): "Templated",
    ("v1", "Service"): "Service",
    ("v1", "ServiceAccount"): "ServiceAccount",
    ("apps/v1", "DaemonSet"): "Templated",
    ("apps/v1", "Deployment"): "Templated",
    ("apps/v1", "ReplicaSet"): "Templated",
    ("apps/v1", "StatefulSet"): "Templated",
    ("batch/v1", "Job"): "Templated",
    ("batch/v1", "CronJob"): "CronJob",
    ("batch/v1beta1", "CronJob"): "CronJob",
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"): "Webhooks",
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"): "Webhooks",
    ("admissionregistration.k8s.io/v1beta1", "MutatingWebhookConfiguration"): "Webhooks",
    ("admissionregistration.k8s.io/v1beta1", "ValidatingWebhookConfiguration"): "Webhooks",
    ("storage.k8s.io/v1", "CSINode"): "CSINode",
    ("storage.k8s.io/v1beta1", "CSINode"): "CSINode",
    **{(version, kind): "Plain" for version, kinds in _PLAIN_KINDS.items() for kind in kinds.split()},
}
"""The type of each kind that Kustomize has a schema for, by (apiVersion, kind). Custom resources have none: all
their lists are replaced."""

CLUSTER_SCOPED = frozenset(
    {
        ("v1", "ComponentStatus"), ("v1", "Namespace"), ("v1", "Node"), ("v1", "PersistentVolume"),
        ("policy/v1beta1", "PodSecurityPolicy"),
        ("flowcontrol.apiserver.k8s.io/v1beta1", "FlowSchema"),
        ("flowcontrol.apiserver.k8s.io/v1beta1", "PriorityLevelConfiguration"),
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"),
        *(
            (f"{group}/{version}", kind)
            for group, kinds in (
                ("admissionregistration.k8s.io", "MutatingWebhookConfiguration ValidatingWebhookConfiguration"),
                ("apiextensions.k8s.io", "CustomResourceDefinition"),
                ("apiregistration.k8s.io", "APIService"),
                ("certificates.k8s.io", "CertificateSigningRequest"),
                ("networking.k8s.io", "IngressClass"),
                ("node.k8s.io", "RuntimeClass"),
                ("rbac.authorization.k8s.io", "ClusterRole ClusterRoleBinding"),
                ("scheduling.k8s.io", "PriorityClass"),
                ("storage.k8s.io", "CSIDriver CSINode StorageClass VolumeAttachment"),
            )
            for version in ("v1", "v1beta1")
            for kind in kinds.split()
        ),
    }
)  # fmt: skip
"""(apiVersion, kind) of what Kustomize knows to have no namespace; everything else gets one."""


class FieldSpec(Struct, frozen=True):
    """A field that a transformer touches, for objects of a kind (empty: any). Lists on the path are entered; a path
    element that ends in `[]` must be a list. `create`: what is missing is made."""

    path: str
    kind: str = ""
    group: str = ""
    version: str = ""
    create: bool = False


_AFFINITY = tuple(
    f"spec/template/spec/affinity/{kind}/{when}"
    for kind in ("podAffinity", "podAntiAffinity")
    for when in (
        "preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
        "requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
    )
)

TEMPLATE_LABELS = (
    FieldSpec("metadata/labels", create=True),
    FieldSpec("spec/template/metadata/labels", "ReplicationController", version="v1", create=True),
    FieldSpec("spec/template/metadata/labels", "Deployment", create=True),
    FieldSpec("spec/template/metadata/labels", "ReplicaSet", create=True),
    FieldSpec("spec/template/metadata/labels", "DaemonSet", create=True),
    FieldSpec("spec/template/metadata/labels", "StatefulSet", "apps", create=True),
    FieldSpec("spec/template/metadata/labels", "Job", "batch", create=True),
    FieldSpec("spec/jobTemplate/metadata/labels", "CronJob", "batch", create=True),
    FieldSpec("spec/jobTemplate/spec/template/metadata/labels", "CronJob", "batch", create=True),
)
CLAIM_LABELS = (FieldSpec("spec/volumeClaimTemplates[]/metadata/labels", "StatefulSet", "apps", create=True),)

COMMON_LABELS = (
    FieldSpec("spec/selector", "Service", version="v1", create=True),
    FieldSpec("spec/selector", "ReplicationController", version="v1", create=True),
    FieldSpec("spec/selector/matchLabels", "Deployment", create=True),
    FieldSpec("spec/selector/matchLabels", "ReplicaSet", create=True),
    FieldSpec("spec/selector/matchLabels", "DaemonSet", create=True),
    FieldSpec("spec/selector/matchLabels", "StatefulSet", "apps", create=True),
    *(FieldSpec(path, kind, "apps") for kind in ("Deployment", "StatefulSet") for path in _AFFINITY),
    *(
        FieldSpec("spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels", kind, "apps")
        for kind in ("Deployment", "StatefulSet")
    ),
    FieldSpec("spec/selector/matchLabels", "Job", "batch"),
    FieldSpec("spec/jobTemplate/spec/selector/matchLabels", "CronJob", "batch"),
    FieldSpec("spec/selector/matchLabels", "PodDisruptionBudget", "policy"),
    FieldSpec("spec/podSelector/matchLabels", "NetworkPolicy", "networking.k8s.io"),
    FieldSpec("spec/ingress/from/podSelector/matchLabels", "NetworkPolicy", "networking.k8s.io"),
    FieldSpec("spec/egress/to/podSelector/matchLabels", "NetworkPolicy", "networking.k8s.io"),
    *TEMPLATE_LABELS,
    *CLAIM_LABELS,
)

COMMON_ANNOTATIONS = (
    FieldSpec("metadata/annotations", create=True),
    FieldSpec("spec/template/metadata/annotations", "ReplicationController", version="v1", create=True),
    FieldSpec("spec/template/metadata/annotations", "Deployment", create=True),
    FieldSpec("spec/template/metadata/annotations", "ReplicaSet", create=True),
    FieldSpec("spec/template/metadata/annotations", "DaemonSet", create=True),
    FieldSpec("spec/template/metadata/annotations", "StatefulSet", create=True),
    FieldSpec("spec/template/metadata/annotations", "Job", "batch", create=True),
    FieldSpec("spec/jobTemplate/metadata/annotations", "CronJob", "batch", create=True),
    FieldSpec("spec/jobTemplate/spec/template/metadata/annotations", "CronJob", "batch", create=True),
)

NAMESPACE = (
    FieldSpec("metadata/name", "Namespace", create=True),
    FieldSpec("spec/service/namespace", "APIService", "apiregistration.k8s.io", create=True),
    FieldSpec(
        "spec/conversion/webhook/clientConfig/service/namespace", "CustomResourceDefinition", "apiextensions.k8s.io"
    ),
)

REPLICAS = tuple(
    FieldSpec("spec/replicas", kind, create=True)
    for kind in ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet")
)

IMAGES = tuple(
    FieldSpec(f"{pod}/{path}")
    for pod in ("spec", "spec/template/spec")
    for path in ("containers[]/image", "initContainers[]/image", "volumes[]/image/reference")
)

UNPREFIXED_KINDS = frozenset({("", "CustomResourceDefinition"), ("apiregistration.k8s.io", "APIService"),
                              ("", "Namespace")})  # fmt: skip
"""(group, kind) of what keeps its name under namePrefix and nameSuffix; an empty group means any."""


class Referral(Struct, frozen=True):
    """A kind whose renaming is followed, and the fields of other objects that may name it."""

    kind: str
    group: str
    version: str
    fields: tuple[FieldSpec, ...]


_POD_SPECS = {
    "Pod": "spec",
    "PodTemplate": "template/spec",
    "Deployment": "spec/template/spec",
    "ReplicaSet": "spec/template/spec",
    "ReplicationController": "spec/template/spec",
    "DaemonSet": "spec/template/spec",
    "StatefulSet": "spec/template/spec",
    "Job": "spec/template/spec",
    "CronJob": "spec/jobTemplate/spec/template/spec",
}
_WITH_CONFIG = ("Pod", "PodTemplate", "Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "Job", "CronJob")
_WITH_CLASSES = ("Pod", "StatefulSet", "Deployment", "ReplicationController", "CronJob", "Job", "DaemonSet")


def _in_pods(kinds: tuple[str, ...], *paths: str) -> tuple[FieldSpec, ...]:
    return tuple(FieldSpec(f"{_POD_SPECS[kind]}/{path}", kind) for kind in kinds for path in paths)


_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_NGINX = r"metadata/annotations/nginx.ingress.kubernetes.io\/"

REFERRALS = (
    *(
        Referral(kind, "", "", (FieldSpec("spec/scaleTargetRef/name", "HorizontalPodAutoscaler"),))
        for kind in ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet")
    ),
    Referral(
        "ConfigMap",
        "",
        "v1",
        (
            *_in_pods(
                _WITH_CONFIG,
                "volumes/configMap/name",
                "volumes/projected/sources/configMap/name",
                "containers/env/valueFrom/configMapKeyRef/name",
                "initContainers/env/valueFrom/configMapKeyRef/name",
                "containers/envFrom/configMapRef/name",
                "initContainers/envFrom/configMapRef/name",
            ),
            FieldSpec("spec/configSource/configMap", "Node"),
            FieldSpec("rules/resourceNames", "Role"),
            FieldSpec("rules/resourceNames", "ClusterRole"),
            FieldSpec(_NGINX + "fastcgi-params-configmap", "Ingress"),
        ),
    ),
    Referral(
        "Secret",
        "",
        "v1",
        (
            *_in_pods(
                _WITH_CONFIG,
                "volumes/secret/secretName",
                "volumes/projected/sources/secret/name",
                "containers/env/valueFrom/secretKeyRef/name",
                "initContainers/env/valueFrom/secretKeyRef/name",
                "containers/envFrom/secretRef/name",
                "initContainers/envFrom/secretRef/name",
                "imagePullSecrets/name",
            ),
            FieldSpec("spec/tls/secretName", "Ingress"),
            FieldSpec(r"metadata/annotations/ingress.kubernetes.io\/auth-secret", "Ingress"),
            FieldSpec(_NGINX + "auth-secret", "Ingress"),
            FieldSpec(_NGINX + "auth-tls-secret", "Ingress"),
            FieldSpec("imagePullSecrets/name", "ServiceAccount"),
            *(
                FieldSpec(f"parameters/{name}", "StorageClass")
                for name in ("secretName", "adminSecretName", "userSecretName", "secretRef")
            ),
            FieldSpec("rules/resourceNames", "Role"),
            FieldSpec("rules/resourceNames", "ClusterRole"),
            FieldSpec(
                "spec/template/spec/containers/env/valueFrom/secretKeyRef/name", "Service", "serving.knative.dev", "v1"
            ),
            FieldSpec("spec/azureFile/secretName", "PersistentVolume"),
        ),
    ),
    Referral(
        "Service",
        "",
        "v1",
        (
            FieldSpec("spec/serviceName", "StatefulSet", "apps"),
            FieldSpec("spec/rules/http/paths/backend/serviceName", "Ingress"),
            FieldSpec("spec/backend/serviceName", "Ingress"),
            FieldSpec("spec/rules/http/paths/backend/service/name", "Ingress"),
            FieldSpec("spec/defaultBackend/service/name", "Ingress"),
            FieldSpec("spec/service/name", "APIService", "apiregistration.k8s.io"),
            FieldSpec("webhooks/clientConfig/service", "ValidatingWebhookConfiguration", _ADMISSION),
            FieldSpec("webhooks/clientConfig/service", "MutatingWebhookConfiguration", _ADMISSION),
        ),
    ),
    Referral("Role", _RBAC, "", (FieldSpec("roleRef/name", "RoleBinding", _RBAC),)),
    Referral(
        "ClusterRole",
        _RBAC,
        "",
        (FieldSpec("roleRef/name", "RoleBinding", _RBAC), FieldSpec("roleRef/name", "ClusterRoleBinding", _RBAC)),
    ),
    Referral(
        "ServiceAccount",
        "",
        "v1",
        (
            FieldSpec("subjects", "RoleBinding", _RBAC),
            FieldSpec("subjects", "ClusterRoleBinding", _RBAC),
            *_in_pods(_WITH_CLASSES, "serviceAccountName"),
        ),
    ),
    Referral("PersistentVolumeClaim", "", "v1", _in_pods(_WITH_CLASSES, "volumes/persistentVolumeClaim/claimName")),
    Referral(
        "PersistentVolume",
        "",
        "v1",
        (FieldSpec("spec/volumeName", "PersistentVolumeClaim"), FieldSpec("rules/resourceNames", "ClusterRole")),
    ),
    Referral(
        "StorageClass",
        "storage.k8s.io",
        "v1",
        (
            FieldSpec("spec/storageClassName", "PersistentVolume"),
            FieldSpec("spec/storageClassName", "PersistentVolumeClaim"),
            FieldSpec("spec/volumeClaimTemplates/spec/storageClassName", "StatefulSet"),
        ),
    ),
    Referral("PriorityClass", "scheduling.k8s.io", "v1", _in_pods(_WITH_CLASSES, "priorityClassName")),
)

VARIABLES = (
    *(
        FieldSpec(f"{_POD_SPECS[kind]}/{path}", kind)
        for kind in ("Pod", "CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet")
        for path in (
            "containers/args",
            "containers/command",
            "containers/env/value",
            "containers/volumeMounts/mountPath",
            "initContainers/args",
            "initContainers/command",
            "initContainers/env/value",
            "initContainers/volumeMounts/mountPath",
            "volumes/nfs/server",
        )
    ),
    FieldSpec("spec/template/metadata/annotations", "Deployment"),
    FieldSpec("spec/rules/host", "Ingress"),
    FieldSpec("spec/tls/hosts", "Ingress"),
    FieldSpec("spec/tls/secretName", "Ingress"),
    FieldSpec("spec/ports/port", "Service"),
    FieldSpec("spec/ports/targetPort", "Service"),
    FieldSpec("spec/nfs/server", "PersistentVolume"),
    FieldSpec("metadata/labels"),
    FieldSpec("metadata/annotations"),
)
"""Where `$(NAME)` of the deprecated `vars` is replaced."""
