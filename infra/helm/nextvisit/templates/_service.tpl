{{/* At most 30 characters: with the longest suffix, `-form-trigger-evaluator-processes`, the name of a Service has 63. */}}
{{- define "nextvisit.fullname" -}}
{{- if contains "nextvisit" .Release.Name }}{{ .Release.Name | trunc 30 | trimSuffix "-" }}{{ else }}{{ printf "%s-nextvisit" (.Release.Name | trunc 20 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- define "nextvisit.selector" -}}
app.kubernetes.io/name: nextvisit
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "nextvisit.labels" -}}
{{ include "nextvisit.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "nextvisit.image" -}}
{{- with .Values.image }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}{{ end }}
{{- end }}

{{- define "nextvisit.serviceAccount" -}}
{{ .Values.serviceAccount.existingName | default (include "nextvisit.fullname" .) }}
{{- end }}

{{/* The services that consume the log, and the secret variables of each besides INTERNAL_TOKEN. */}}
{{- define "nextvisit.consumers" -}}
user-projector: [USER_PROJECTOR_DATABASE_URL, NEXTVISIT_SECRET_KEY]
trait-registry: [TRAIT_REGISTRY_DATABASE_URL]
metering: [METERING_DATABASE_URL]
form-trigger-evaluator: [FORM_TRIGGER_EVALUATOR_DATABASE_URL, NEXTVISIT_SECRET_KEY, REDIS_URL]
answer-collector: [ANSWER_COLLECTOR_DATABASE_URL, NEXTVISIT_SECRET_KEY]
webhook-dispatcher: [WEBHOOK_DISPATCHER_DATABASE_URL, NEXTVISIT_SECRET_KEY]
user-eraser: [USER_ERASER_DATABASE_URL, NEXTVISIT_SECRET_KEY, REDIS_URL]
{{- end }}

{{/* The variables with the addresses of the consumers' databases, as a list in JSON. */}}
{{- define "nextvisit.databaseUrls" -}}
{{- $names := list }}
{{- range $name, $secrets := include "nextvisit.consumers" . | fromYaml }}{{ $names = append $names (first $secrets) }}{{ end }}
{{- toJson $names }}
{{- end }}

{{/* All services of the release with the secret variables of each. */}}
{{- define "nextvisit.services" -}}
{{ include "nextvisit.consumers" . }}
gateway: [NEXTVISIT_SECRET_KEY, REDIS_URL]
{{- if .Values.console.enabled }}
console: [NEXTVISIT_SECRET_KEY, REDIS_URL{{ if not .Values.console.oidc.issuer }}, CONSOLE_TOKEN{{ end }}]
{{- end }}
{{- end }}

{{/* The settings of a service: the defaults, overwritten by its own. Arguments: root, name. */}}
{{- define "nextvisit.settings" -}}
{{ mergeOverwrite (deepCopy .root.Values.defaults) (deepCopy (index .root.Values.services .name | default dict)) | toYaml }}
{{- end }}

{{/* A value as text. Helm reads numbers as floats, and would print a million as 1e+06. */}}
{{- define "nextvisit.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* Partitions that contain records: 12 of `12/24`. The others are assigned, too, but stay empty. */}}
{{- define "nextvisit.partitions" -}}
{{- $numbers := splitList "/" (include "nextvisit.text" .Values.kafka.partitions) }}
{{- if gt (int (first $numbers)) (int (last $numbers)) }}{{ fail (printf "kafka.partitions: %s uses more partitions than the topics have; write 12/24 if only the first 12 of 24 are used" .Values.kafka.partitions) }}{{ end }}
{{- first $numbers }}
{{- end }}

{{/* The most processes that a consumer has, without those that an upgrade starts. Arguments: root, name. */}}
{{- define "nextvisit.maxProcesses" -}}
{{- $partitions := int (include "nextvisit.partitions" .root) }}
{{- /* The topic `erasures`. */}}
{{- if eq .name "user-eraser" }}{{ $partitions = 1 }}{{ end }}
{{- with .root.Values.keda }}
{{- if .enabled }}{{ min $partitions (int .maxReplicas | default $partitions) }}
{{- else }}{{ (include "nextvisit.settings" $ | fromYaml).replicas }}
{{- end }}
{{- end }}
{{- end }}

{{/* The least `max_connections` of Postgres (docs/guides/operate.md). An upgrade starts one more process of each consumer. */}}
{{- define "nextvisit.connections" -}}
{{- $connections := 48 }}
{{- range $name, $secrets := include "nextvisit.consumers" . | fromYaml }}
{{- $processes := int (include "nextvisit.maxProcesses" (dict "root" $ "name" $name)) }}
{{- $connections = add $connections (mul 12 (add $processes 1)) }}
{{- end }}
{{- $connections }}
{{- end }}

{{/* Variables of every process, commands included: a map of names to values. */}}
{{- define "nextvisit.variables" -}}
NEXTVISIT_MODE: {{ .Values.mode | quote }}
LOG_LEVEL: {{ .Values.logLevel | quote }}
{{- with .Values.tracing }}
{{- if .endpoint }}
OTEL_EXPORTER_OTLP_ENDPOINT: {{ .endpoint | quote }}
OTEL_TRACES_SAMPLER: parentbased_traceidratio
OTEL_TRACES_SAMPLER_ARG: {{ .ratio | quote }}
{{- end }}
{{- end }}
KAFKA_BROKERS: {{ required "kafka.brokers: name at least one broker, such as kafka-0.kafka:9092" (join "," .Values.kafka.brokers) | quote }}
KAFKA_TLS: {{ .Values.kafka.tls | quote }}
KAFKA_PARTITIONS: {{ include "nextvisit.text" .Values.kafka.partitions | quote }}
{{- with .Values.kafka.sasl }}
{{- if .mechanism }}
KAFKA_SASL_MECHANISM: {{ .mechanism | quote }}
KAFKA_SASL_USERNAME: {{ required "kafka.sasl.username: required with kafka.sasl.mechanism" .username | quote }}
{{- end }}
{{- end }}
{{- if or .Values.trustedCertificates.configMap .Values.trustedCertificates.secret }}
NODE_EXTRA_CA_CERTS: {{ printf "/etc/nextvisit/certificates/%s" .Values.trustedCertificates.key | quote }}
{{- end }}
{{- end }}

{{/* Variables with the addresses of the services. Each name resolves to all processes (docs/decisions/0021). */}}
{{- define "nextvisit.addresses" -}}
{{- range $name, $secrets := include "nextvisit.services" . | fromYaml }}
{{- if ne $name "console" }}
{{ if eq $name "gateway" }}GATEWAY_INTERNAL{{ else }}{{ $name | replace "-" "_" | upper }}{{ end }}_URLS: dns+http://{{ include "nextvisit.fullname" $ }}-{{ $name }}-processes.{{ $.Release.Namespace }}:9100
{{- end }}
{{- end }}
{{- end }}

{{/* The variables of a container, as a list. Arguments: root, variables (a map), secrets (names). */}}
{{- define "nextvisit.env" -}}
{{- $secrets := .secrets }}
{{- range concat $secrets (list "KAFKA_SASL_PASSWORD" "CONSOLE_TOKEN" "CONSOLE_VIEWER_TOKEN" "CONSOLE_OIDC_CLIENT_SECRET" "CONSOLE_OPERATOR_DATABASE_URL") }}
{{- if hasKey $.variables . }}{{ fail (printf "env: %s is secret, so it belongs in the Secret %s" . $.root.Values.secrets.existingSecret) }}{{ end }}
{{- end }}
{{- if hasKey .variables "OTEL_EXPORTER_OTLP_HEADERS" }}{{ fail "env: OTEL_EXPORTER_OTLP_HEADERS is secret, so it belongs in a Secret; name it in tracing.headersSecret" }}{{ end }}
{{- if .root.Values.kafka.sasl.mechanism }}{{ $secrets = append $secrets "KAFKA_SASL_PASSWORD" }}{{ end }}
{{- include "nextvisit.secretEnv" (dict "root" .root "names" $secrets) }}
{{- with .root.Values.tracing.headersSecret }}
- { name: OTEL_EXPORTER_OTLP_HEADERS, valueFrom: { secretKeyRef: { name: {{ . | quote }}, key: OTEL_EXPORTER_OTLP_HEADERS } } }
{{- end }}
{{- range $name, $value := mergeOverwrite (include "nextvisit.variables" .root | fromYaml) .variables }}
- { name: {{ $name }}, value: {{ include "nextvisit.text" $value | quote }} }
{{- end }}
{{- end }}

{{/* Variables from the Secret. Arguments: root, names. */}}
{{- define "nextvisit.secretEnv" -}}
{{- $secret := required "secrets.existingSecret: name the Secret with the keys that docs/guides/kubernetes.md lists" .root.Values.secrets.existingSecret }}
{{- range $i, $name := .names }}
{{- if $i }}
{{ end -}}
- { name: {{ $name }}, valueFrom: { secretKeyRef: { name: {{ $secret | quote }}, key: {{ $name }} } } }
{{- end }}
{{- end }}

{{/* Security of a pod: the profile *restricted* of Kubernetes. 1000 is the user `node` of the image. */}}
{{- define "nextvisit.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "nextvisit.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* What every pod has besides its containers. */}}
{{- define "nextvisit.podSpec" -}}
serviceAccountName: {{ include "nextvisit.serviceAccount" . }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext: {{- include "nextvisit.podSecurity" . | nindent 2 }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- range . }}
  - name: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "nextvisit.volumes" -}}
- { name: tmp, emptyDir: { sizeLimit: 64Mi } }
{{- with .Values.trustedCertificates }}
{{- if .configMap }}
- { name: certificates, configMap: { name: {{ .configMap | quote }} } }
{{- else if .secret }}
- { name: certificates, secret: { secretName: {{ .secret | quote }} } }
{{- end }}
{{- end }}
{{- end }}

{{- define "nextvisit.mounts" -}}
- { name: tmp, mountPath: /tmp }
{{- if or .Values.trustedCertificates.configMap .Values.trustedCertificates.secret }}
- { name: certificates, mountPath: /etc/nextvisit/certificates, readOnly: true }
{{- end }}
{{- end }}

{{/*
The pod of a command of nextvisit. Arguments: root, name, command, secrets, variables, volumes, mounts, envFromSecret. Instead of
command: entrypoint, restartPolicy.
*/}}
{{- define "nextvisit.commandPod" -}}
# The account of the release does not exist before the first installation.
{{- if .root.Values.serviceAccount.existingName }}
serviceAccountName: {{ .root.Values.serviceAccount.existingName }}
{{- end }}
automountServiceAccountToken: false
enableServiceLinks: false
restartPolicy: {{ .restartPolicy | default "Never" }}
securityContext: {{- include "nextvisit.podSecurity" .root | nindent 2 }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{- range . }}
  - name: {{ . | quote }}
{{- end }}
{{- end }}
{{- with .root.Values.defaults.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.defaults.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.defaults.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.defaults.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: {{ .name }}
    image: {{ include "nextvisit.image" .root }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    command: {{ .entrypoint | default (list "node" "tools/cli/src/main.ts") | toJson }}
    args: {{ .command | default list | toJson }}
    env:
      {{- include "nextvisit.env" (dict "root" .root "variables" (.variables | default dict) "secrets" (.secrets | default list)) | nindent 6 }}
    {{- with .envFromSecret }}
    envFrom:
      - secretRef: { name: {{ . | quote }} }
    {{- end }}
    resources: {{- toYaml .root.Values.defaults.resources | nindent 6 }}
    securityContext: {{- include "nextvisit.containerSecurity" .root | nindent 6 }}
    volumeMounts:
      {{- include "nextvisit.mounts" .root | nindent 6 }}
      {{- with .mounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
volumes:
  {{- include "nextvisit.volumes" .root | nindent 2 }}
  {{- with .volumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* The template of the pod of a command in a Job or a Deployment. Arguments: those of the pod. */}}
{{- define "nextvisit.commandTemplate" -}}
metadata:
  labels: {{- include "nextvisit.selector" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
    {{- with .root.Values.defaults.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  {{- with .root.Values.defaults.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- include "nextvisit.commandPod" . | nindent 2 }}
{{- end }}

{{/* A Job that runs a command of nextvisit. Arguments: those of its pod; hook, weight, timeoutSeconds. */}}
{{- define "nextvisit.job" -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "nextvisit.fullname" .root }}-{{ .name }}
  labels: {{- include "nextvisit.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
  annotations:
    helm.sh/hook: {{ .hook }}
    helm.sh/hook-weight: {{ .weight | quote }}
    # A failed Job stays, so that its log can be read.
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  backoffLimit: 3
  activeDeadlineSeconds: {{ int .timeoutSeconds }}
  template: {{- include "nextvisit.commandTemplate" . | nindent 4 }}
{{- end }}
