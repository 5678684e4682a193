"""PaddleJob of the paddle-operator (batch.paddlepaddle.org); that of the training operator goes to `kubeflow`.

`Workload.fields`: paths from the object. `Role.fields`: the role (`replicas`, `requests`, `limits`). A pod is its
template as it stands, with the variables of its rank; where it has no restartPolicy it gets Never (OnFailure for
workers that find one another by Services). A pod that has failed fails the job; one that was deleted is made again.
(paddle-operator v0.4, controllers/paddlejob_helper.go constructPod and getPaddleJobPhase, paddlejob_controller.go)
"""

from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.assembly import assemble, helpers_do_not_train
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.paths import fields_of
from kube_gaplint.kinds.pods import Making, read_pod
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Origin, Set, Setting, Unknown
from kube_gaplint.model.workload import RestartLayer, Role, Workload

OPERATOR = "paddle-operator"
NOTE = "the paddle-operator"
_ROLES = ("worker", "heter", "ps")
_VARIABLES = (
    "POD_IP", "PADDLE_TRAINER_ID", "TRAINING_ROLE", "PADDLE_TRAINING_ROLE", "PADDLE_TRAINER_ENDPOINTS",
    "PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_TRAINERS", "PADDLE_PORT", "TRAINER_PORTS_NUM",
)  # fmt: skip


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterator[Workload]:
    context = Context(bundle, item, profile)
    spec = context.root.at("spec")
    roles = [_role(name, spec, context) for name in _ROLES if spec.at(name).present]
    helpers_do_not_train(roles)
    origin = context.origin
    unseen = Unknown("a failed pod fails the job, and one that was deleted is made again", origin)
    elastic = spec.at("elastic")
    yield assemble(
        context,
        roles,
        [RestartLayer(OPERATOR, "workload", unseen, origin)],
        gang=Unknown("whether the operator runs with Volcano is not known", origin),
        elastic=Unknown("its levels are the operator's own", elastic.origin)
        if elastic.present
        else Set(False, Origin(spec.place, "default", NOTE)),
    )


def _role(name: str, spec: Part, context: Context) -> Role:
    part = spec.at(name)
    by_service = name == "worker" and spec.text("intranet") == "Service"
    filled = Origin(spec.place, "injected", NOTE)
    making = Making(
        restart_default="OnFailure" if by_service else "Never",
        restart_note=NOTE,
        variables={variable: Unknown("the paddle-operator fills it in", filled) for variable in _VARIABLES},
    )
    replicas: Setting[int] = part.integer("replicas", default=0, note=NOTE)
    return Role(name, part.origin, read_pod(part.at("template"), context, making), replicas, fields=fields_of(part))
