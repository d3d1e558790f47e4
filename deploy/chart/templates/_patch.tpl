{{- /*
toolsandbox.patch is a strategic merge patch: maps are merged, lists whose elements have names by these names, and all
else is replaced. Nothing, or $patch: delete, deletes. It returns JSON, {"value": …}, without a value if the patch
deletes it.
*/}}
{{- define "toolsandbox.patch" }}
{{- if kindIs "invalid" .patch }}
{{- toJson dict }}
{{- else if and (kindIs "map" .patch) (hasKey .patch "$patch") }}
{{- if ne (toString (get .patch "$patch")) "delete" }}
{{- fail (printf "patches: $patch: %v given, expected delete" (get .patch "$patch")) }}
{{- end }}
{{- toJson dict }}
{{- else if and (kindIs "map" .patch) (kindIs "map" .to) }}
{{- $to := .to }}
{{- range $key, $value := .patch }}
{{- $merged := include "toolsandbox.patch" (dict "to" (get $to $key) "patch" $value) | fromJson }}
{{- if hasKey $merged "value" }}
{{- $_ := set $to $key $merged.value }}
{{- else }}
{{- $_ := unset $to $key }}
{{- end }}
{{- end }}
{{- toJson (dict "value" $to) }}
{{- else if and (kindIs "slice" .patch) (kindIs "slice" .to) (include "toolsandbox.named" .patch) (include "toolsandbox.named" .to) }}
{{- $list := list }}
{{- $given := dict }}
{{- range .patch }}{{ $_ := set $given .name . }}{{ end }}
{{- range .to }}
{{- if hasKey $given .name }}
{{- $merged := include "toolsandbox.patch" (dict "to" . "patch" (get $given .name)) | fromJson }}
{{- if hasKey $merged "value" }}{{ $list = append $list $merged.value }}{{ end }}
{{- $_ := unset $given .name }}
{{- else }}
{{- $list = append $list . }}
{{- end }}
{{- end }}
{{- range .patch }}
{{- if hasKey $given .name }}{{ $list = append $list . }}{{ end }}
{{- end }}
{{- toJson (dict "value" $list) }}
{{- else }}
{{- toJson (dict "value" .patch) }}
{{- end }}
{{- end }}

{{- /* toolsandbox.named is "true" for a list whose elements all have a name. */}}
{{- define "toolsandbox.named" }}
{{- $named := true }}
{{- range . }}
{{- if not (and (kindIs "map" .) (hasKey . "name")) }}{{ $named = false }}{{ end }}
{{- end }}
{{- if $named }}true{{ end }}
{{- end }}
