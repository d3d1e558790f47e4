package responses

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/providertest"
)

// answered is an answer with reasoning and two calls.
const answered = `{"id":"resp_1","object":"response","created_at":1720000000,"status":"completed","background":false,"error":null,` +
	`"incomplete_details":null,"instructions":null,"max_output_tokens":null,"model":"o4-mini-2025-04-16","output":[` +
	`{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAAABoISQ24OyVRYbkYfukdJoqdzWT","summary":[]},` +
	`{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"name\": \"Ada\", \"is_self\": false}","call_id":"call_1","name":"search_contacts"},` +
	`{"id":"fc_2","type":"function_call","status":"completed","arguments":"{}","call_id":"call_2","name":"get_wifi_status"}],` +
	`"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":"low","summary":null},"service_tier":"default","store":false,` +
	`"temperature":1.0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled",` +
	`"usage":{"input_tokens":1200,"input_tokens_details":{"cached_tokens":1024},"output_tokens":60,"output_tokens_details":{"reasoning_tokens":32},` +
	`"total_tokens":1260},"user":null,"metadata":{}}`

// reasoned is a turn with reasoning and a call.
func reasoned(call string) string {
	return `[{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAAABoISQ24OyVRYbkYfukdJoqdzWT","summary":[]},` +
		`{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"name\": \"Ada\"}","call_id":"` + call + `","name":"search_contacts"}]`
}

func BenchmarkEncode(b *testing.B) { providertest.Encode(b, Codec{}, reasoned) }

// BenchmarkDecode decodes an answer with reasoning and two calls, with and without the tools that
// the provider echoes.
func BenchmarkDecode(b *testing.B) {
	tools := make([]string, 20)
	for i, t := range providertest.Query(nil).Tools {
		tools[i] = fmt.Sprintf(`{"type":"function","name":%q,"description":%q,"parameters":%s,"strict":false}`, t.GetName(), t.GetDescription(), t.GetParametersJson())
	}
	for name, body := range map[string]string{
		"Plain": answered, "Tools": strings.Replace(answered, `"tools":[]`, `"tools":[`+strings.Join(tools, ",")+"]", 1),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (Codec{}).Decode([]byte(body)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
