"""What shows that the pods of a job are started all together or not at all.

Sources: facts of Kubernetes objects, sections A3, A6, A10, A12 and C; documentation of the schedulers.
"""

from __future__ import annotations

# schedulerName values of schedulers that gang-schedule the jobs which they know.
GANG_SCHEDULERS: dict[str, str] = {
    "volcano": "Volcano",
    "kai-scheduler": "KAI",
    "runai-scheduler": "Run:ai",
    "scheduler-plugins-scheduler": "scheduler-plugins",
    "coscheduler": "coscheduling",
    "coscheduling": "coscheduling",
    "gang-scheduler": "coscheduling",
    "kube-batch": "kube-batch",
    "koord-scheduler": "Koordinator",
    "godel-scheduler": "Gödel",
    "tke-scheduler": "TKE batch scheduler",
    "vc-scheduler": "Volcano",
    "slurm-bridge-scheduler": "slurm-bridge",
    "slurm-bridge": "slurm-bridge",
    "yunikorn": "YuniKorn",
}

# Of them those for which the mpi-operator makes a PodGroup of the whole job. (mpi-operator pkg/controller/podgroup.go)
WAITS_FOR_POD_GROUP = frozenset(
    {"volcano", "vc-scheduler", "scheduler-plugins-scheduler", "coscheduler", "coscheduling", "gang-scheduler"}
)

# Schedulers that place pods one by one.
SINGLE_SCHEDULERS = frozenset({"default-scheduler", "gke.io/optimize-utilization-scheduler", "linear-scheduler"})

# Operators that make a PodGroup of each job where they are told to, by the last part of their image, with their kinds.
# (mpi-operator cmd/mpi-operator/app/options, training-operator cmd/training-operator.v1/main.go, tf-operator and
# pytorch-operator cmd/*/app/options)
OPERATORS: dict[str, tuple[str, ...]] = {
    "mpi-operator": ("MPIJob",),
    "training-operator": ("PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "MXJob", "PaddleJob", "JAXJob"),
    "tf-operator": ("TFJob",),
    "tf_operator": ("TFJob",),
    "pytorch-operator": ("PyTorchJob",),
}
OPERATOR_FLAGS = frozenset({"gang-scheduling", "gang-scheduler-name", "enable-gang-scheduling"})
OPERATOR_FLAGS_OFF = frozenset({"none", "false"})

# Labels on the job (or on its outer owner) by which a queue admits all of its pods together.
QUEUE_LABELS: dict[str, str] = {
    "kueue.x-k8s.io/queue-name": "Kueue",
    "kai.scheduler/queue": "KAI",
    "runai/queue": "Run:ai",
    "volcano.sh/queue-name": "Volcano",
    "scheduling.volcano.sh/queue-name": "Volcano",
    "ray.io/gang-scheduling-enabled": "KubeRay's batch scheduler",
}

# A label of KubeRay whose value names the scheduler.
SCHEDULER_LABEL = "ray.io/scheduler-name"

# Annotations of the job or of its pods by which whole groups of pods, or the nodes for all of them, are placed at once.
PLACEMENT_ANNOTATIONS: dict[str, str] = {
    "alpha.jobset.sigs.k8s.io/exclusive-topology": "JobSet's exclusive placement",
    "autoscaling.x-k8s.io/consume-provisioning-request": "a ProvisioningRequest",
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request": "a ProvisioningRequest",
    "kueue.x-k8s.io/podset-required-topology": "Kueue",
    "kueue.x-k8s.io/podset-preferred-topology": "Kueue",
}

# Fields of pods, and of the part of a job that makes them, that name a group in Kubernetes' own workload API.
POD_GROUP_FIELDS: dict[str, str] = {
    "workloadRef.name": "Kubernetes' workload API",
    "schedulingGroup.podGroupName": "Kubernetes' workload API",
}
JOB_GANG_FIELDS: dict[str, str] = {"scheduling.schedulingPolicy.gang.minCount": "Kubernetes' workload API"}

# The queue that Kueue puts jobs without a label into, where the namespace has it. (Kueue, LocalQueueDefaulting)
DEFAULT_QUEUE = "default"

# Owners that take a job whose pods do not all run down again: nothing waits in halves for ever.
GANG_OWNERS: dict[str, str] = {"AppWrapper": "AppWrapper"}

# Labels and annotations of pods that name the group which they belong to.
POD_GROUP_KEYS: dict[str, str] = {
    "scheduling.x-k8s.io/pod-group": "coscheduling",
    "pod-group.scheduling.sigs.k8s.io": "coscheduling",
    "pod-group.scheduling.sigs.k8s.io/name": "coscheduling",
    "scheduling.k8s.io/group-name": "PodGroup",
    "scheduling.volcano.sh/group-name": "Volcano",
    "volcano.sh/group-name": "Volcano",
    "kueue.x-k8s.io/pod-group-name": "Kueue",
    "yunikorn.apache.org/task-group-name": "YuniKorn",
    "yunikorn.apache.org/task-groups": "YuniKorn",
    "gang.scheduling.koordinator.sh/name": "Koordinator",
    "pod-group-name": "Run:ai",
    "kai.scheduler/queue": "KAI",
    "runai/queue": "Run:ai",
    "slurmjob.slinky.slurm.net/job-name": "slurm-bridge",
}
