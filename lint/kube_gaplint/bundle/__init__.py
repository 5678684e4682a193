"""Objects and the references between them: lists, ConfigMaps, Kustomize, templates."""
