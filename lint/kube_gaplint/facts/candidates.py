"""Which files are worth reading: the kinds and words by which the bytes of a file are recognised.

The test runs over every YAML file of a repository before anything is parsed, so it only has to be cheap and never to
miss: what it lets through is judged by API group later.
"""

from __future__ import annotations

SUPPRESSION_WORD = "gaplint"
"""What every text holds in which something is suppressed."""

JUDGED_KINDS = frozenset(
    {
        # training jobs
        "JobSet", "PyTorchJob", "TFJob", "XGBoostJob", "XGBJob", "PaddleJob", "JAXJob", "MPIJob", "MXJob", "TrainJob",
        "TrainingRuntime", "ClusterTrainingRuntime", "RayJob", "RayCluster", "RayService", "LeaderWorkerSet",
        "AppWrapper", "HyperPodPyTorchJob", "ElasticJob", "ElasticDLJob", "MarsJob", "InteractiveWorkload",
        "TrainingWorkload", "DistributedWorkload", "DeepSpeedJob", "LeaderWorkerTemplate", "PodGroup",
        # Slurm on Kubernetes
        "NodeSet", "LoginSet", "RestApi", "SlurmCluster", "SlurmControl", "ActiveCheck", "NodeConfigurator",
        "JailedConfig", "Controller", "Accounting", "SunkCluster",
        # node pools, machine images, what sets nodes up and what upgrades them
        "NodePool", "NodeClaim", "EC2NodeClass", "NodeClass", "AKSNodeClass", "GCENodeClass", "Provisioner",
        "AWSNodeTemplate", "ClusterConfig", "Nodegroup", "NodeGroup", "AWSManagedMachinePool", "AWSMachineTemplate",
        "AWSMachinePool", "AzureMachineTemplate", "AzureMachinePool", "AzureManagedMachinePool", "GCPMachineTemplate",
        "GCPMachinePool", "GCPManagedMachinePool", "OpenStackMachineTemplate", "OCIMachineTemplate",
        "MachineDeployment", "MachinePool", "MachineSet", "MachineHealthCheck", "Machine",
        "KubeadmConfig", "KubeadmConfigTemplate",
        "KubeadmControlPlane", "KubeadmControlPlaneTemplate", "AzureManagedControlPlane",
        "EKSConfig", "EKSConfigTemplate", "RKE2ConfigTemplate", "KThreesConfigTemplate",
        "ContainerNodePool", "ContainerCluster", "ComputeClass", "ManagedCluster", "ManagedClustersAgentPool",
        "AgentPool",
        "KubernetesCluster", "KubernetesClusterNodePool", "InstanceGroup", "Plan", "UpdateConfig", "MachineConfig",
        "MachineConfigPool", "KubeletConfig", "ClusterVersion", "ClusterPolicy", "NVIDIADriver", "NicClusterPolicy",
        "DeviceConfig", "NodeOverlay", "BottlerocketShadow", "SriovNetworkNodePolicy", "SriovOperatorConfig",
        # admission
        "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
    }
)  # fmt: skip
"""Kinds that are read whatever else the file holds."""

EVIDENCE_KINDS = frozenset(
    {
        "PodDisruptionBudget", "LimitRange", "PriorityClass", "StorageClass", "NodeHealthCheck", "Profile",
        "MutatingAdmissionPolicy", "MaintenanceConfiguration", "Policy", "Sidecar", "PeerAuthentication",
        "IstioOperator", "ProvisioningRequest", "ClusterAutoscaler", "MachineAutoscaler", "KubeletConfiguration",
        "LocalQueue", "ImageTagMirrorSet", "ImageDigestMirrorSet", "ImageContentSourcePolicy",
    }
)  # fmt: skip
"""Kinds that say something about a judged object without being named by it: read when there is one."""

MARKED_KINDS = {"CronJob": "claimName", "ServiceAccount": "imagePullSecrets"}
"""Kinds that are evidence where they hold something: a CronJob with a claim may delete what a training job saves there,
the pull secrets of the account `default` go along with all pods of a namespace."""

SHARING_MARK = "timeSlicing:"
"""What a configuration of NVIDIA's device plugin holds by which pods share cards: evidence, in Helm values too."""

NODE_WATCHERS = (
    "node-problem-detector", "nvsentinel", "health-monitoring-agent", "autopilot", "node-health", "node-doctor",
    "descheduler", "draino", "gpu-health", "node-remedy", "fence-agents", "node-monitoring-agent", "noderepair=true",
    "nodeproblemdetector",
)  # fmt: skip
"""What the images, charts and switches of programs hold that watch nodes and take bad ones out: evidence."""
LOG_SHIPPERS = (
    "fluent-bit", "fluentd", "fluent-operator", "promtail", "grafana/alloy", "grafana/agent", "filebeat", "/vector:",
    "logstash", "opentelemetry-collector", "otel/", "datadog/agent", "splunk", "logdna", "sumologic",
    "newrelic-logging", "cloudwatch-agent", "ops-agent",
)  # fmt: skip
"""The same of programs that carry the logs of containers out of the node."""
REGISTRY_MIRRORS = ("spegel", "dragonfly", "kraken-agent")
"""The same of programs through which nodes pull images that others have pulled."""
WATCHERS = (*NODE_WATCHERS, *LOG_SHIPPERS, *REGISTRY_MIRRORS)
WATCHER_KINDS = frozenset({"DaemonSet", "Deployment", "HelmRelease", "HelmChart", "Application", "Cluster"})

NAMED_KINDS = frozenset(
    {
        "ConfigMap", "Secret", "PersistentVolumeClaim", "PersistentVolume", "Service", "ExternalSecret", "SealedSecret",
        "Namespace", "RuntimeClass", "ResourceClaimTemplate", "ResourceClaim", "DeviceClass",
        "ClusterQueue", "Cohort", "ResourceFlavor", "Topology", "WorkloadPriorityClass", "Queue", "ResourceQuota",
        "PrometheusRule",
    }
)  # fmt: skip
"""Kinds that are read when a judged object names them."""

PLAIN_KINDS = frozenset(
    {
        "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "ServiceAccount", "Ingress", "IngressClass",
        "CustomResourceDefinition", "HorizontalPodAutoscaler", "Endpoints", "EndpointSlice", "APIService", "Lease",
        "Gateway", "HTTPRoute", "VirtualService", "DestinationRule", "ServiceMonitor", "Certificate", "Issuer",
        "ClusterIssuer", "Kustomization", "ApplicationSet", "AppProject", "HelmRepository", "GitRepository",
        "OCIRepository", "ImagePolicy", "ImageRepository", "Event", "CSIDriver", "CSINode", "NetworkPolicy",
        "PodMonitor", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ClusterServiceVersion",
    }
)  # fmt: skip
"""Kinds that no rule looks at."""

TRAINING_WORDS = (
    "gpu", "nvidia", "torch", "nccl", "deepspeed", "mpirun", "srun", "slurm", "cuda", "rocm",
    "megatron", "tensorflow", "horovod", "rdma", "neuron", "habana", "gaudi", "google.com/tpu",
    "amd.com/", "huawei.com/", "infiniband", "accelerate", "xgboost", "finetun", "fine-tun", "nsenter",
    "unattended", "apt-get", "upgrade", "kured", "llm", "calico", "cilium", "flannel", "multus",
    "antrea", "weave-kube", "kube-ovn", "amazon-k8s-cni", "kube-proxy", "sriov", "cluster-autoscaler",
    "karpenter", "batch.volcano.sh", "mpiexec", "resourceclaims",
)  # fmt: skip
"""Words (lower case) that make any other object with pods, or of an unknown kind, worth reading. `train` is one more,
where it is not part of `constraint`."""

TEMPLATE_WORDS = ("nvidia.com/", "amd.com/gpu", "karpenter.sh/", "tolerations", "nodeSelector")
"""What the text of a template holds that may tell who uses a pool of GPU nodes."""

HOST_WORDS = ("hostpid", "systemctl", "chroot", "/run/systemd", "/run/dbus")
"""The same where pods work on their hosts, be it by a script in another file: rules look at what such a pod does to the
node, whatever says that there are GPUs."""

HOST_PATH_WORD = "hostpath"
HOST_ROOTS = ("path: /\n", "path: /\r", "path: /}", "path: /,", "path: / ", 'path: "/"', "path: '/'", '"path": "/"')
"""How the whole file system of a host is mounted, where `HOST_PATH_WORD` stands too."""

CONFIGURATION_WORDS = (
    "slurmctld", "slurm.conf", "killonbadexit", "cloud-config", "unattended-upgrade", "20auto-upgrades",
    "package_upgrade", "cluster-autoscaler", "brupop", "#sbatch",
)  # fmt: skip
"""Words (lower case) that make a ConfigMap, a Secret or a file without objects worth reading by itself."""

FREE_WORDS = (
    "#cloud-config", "variant: flatcar", "variant: fcos", "siderolabs/installer", "factory.talos.dev",
    "slurm", "killonbadexit", "extraconf",
    "upgradepolicy", "gpu-operator:", "gpuoperator:", "deviceplugin:", "dcgmexporter:", "migmanager:",
    "rebootsentinel", "blockingpodselector", "rebootdays", "scheduler_cron_expression",
)  # fmt: skip
"""Words (lower case) that make YAML without `apiVersion` worth reading: cloud-init, Butane, Talos, Helm values of
charts for Slurm, drivers and reboots."""

NODE_REPAIR_MARK = "NodeRepairConfig"
"""What a CloudFormation template holds whose node groups are repaired."""
CLOUDFORMATION = "AWS::"
CLOUDFORMATION_ENDINGS = frozenset({".template", ".cfn"})
"""Besides YAML and JSON."""
CLOUDFORMATION_TYPES = ("AWS::EKS::Nodegroup", "AWS::AutoScaling::AutoScalingGroup")
"""Resource types that make a CloudFormation template, which has neither `apiVersion` nor `kind`, worth reading."""

BATCH_MARK = b"#SBATCH"
KUSTOMIZATION_NAMES = frozenset({"kustomization.yaml", "kustomization.yml", "Kustomization"})
YAML_ENDINGS = frozenset({".yaml", ".yml"})
SCRIPT_ENDINGS = frozenset({".sbatch", ".slurm"})
SHELL_ENDINGS = frozenset({".sh", ".bash", ".job", ".sub"})
TEMPLATE_ENDINGS = frozenset({".j2", ".jinja", ".jinja2", ".tpl", ".tmpl", ".gotmpl", ".template", ".erb", ".mustache"})
SLURM_CONF_NAMES = frozenset({"slurm.conf"})

TOOL_FOLDERS = frozenset(
    {
        "node_modules",
        ".venv",
        ".tox",
        ".nox",
        ".terraform",
        "__pycache__",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
    }
)  # fmt: skip
"""Folders that tools fill; nobody keeps manifests there."""

VERSION_CONTROL_FOLDERS = frozenset({".git", ".hg", ".svn", ".jj", ".sl"})

BASELINE_NAME = ".gaplint-baseline.json"
OWN_NAMES = frozenset({".gaplint.yaml", ".gaplint.yml", BASELINE_NAME})
"""gaplint's own files: they name kinds and are no manifests."""
