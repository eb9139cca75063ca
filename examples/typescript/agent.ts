/**
 * A small agent in TypeScript, with nothing but fetch: a model call, a tool call, a model call.
 *
 *     rejudge agent register desk-ts --command "npx tsx agent.ts" --folder examples/typescript
 *
 * Run by rejudge, every call is offered to the tape before it is made (`answered`), and every call is written as an
 * OpenTelemetry span. Run by hand, both are skipped:  echo '"Where is order HG-1001?"' | npx tsx agent.ts
 */
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

type Json = any;
type Part = { type: string; [name: string]: Json };
type Message = { role: string; parts: Part[]; finish_reason?: string };
type Request = { model: string; messages: Message[]; system_instructions: Part[]; tools: Json[] };

const TAPE = process.env.REJUDGE_TAPE_URL;
const OTLP = process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
const MODEL_URL = process.env.OPENAI_BASE_URL ?? "http://127.0.0.1:8790/v1";
const TOOLS = [
  {
    type: "function",
    name: "lookup_order",
    description: "What is known of an order.",
    parameters: { type: "object", properties: { order_id: { type: "string" } }, required: ["order_id"] },
  },
];

/** Asks the tape about a call; undefined: make it. */
async function answered(path: "/tool" | "/model", question: Json): Promise<Json | undefined> {
  if (!TAPE) return undefined;
  const headers = { authorization: `Bearer ${process.env.REJUDGE_TAPE_TOKEN}`, "content-type": "application/json" };
  const reply = await fetch(TAPE + path, { method: "POST", headers, body: JSON.stringify(question) });
  const answer = await reply.json();
  if (answer.action === "stop") process.exit(1); // nothing was recorded for this call, and nothing may run
  if (answer.action === "error") throw new Error(answer.miss);
  if (answer.error) throw new Error(answer.error.message);
  return answer;
}

async function lookUp(orderId: string): Promise<Json> {
  return { order_id: orderId, status: "delivered", at: new Date().toISOString() };
}

async function callTool(name: string, args: Json, callId: string): Promise<Json> {
  return span(`execute_tool ${name}`, async (set) => {
    set("gen_ai.operation.name", "execute_tool");
    set("gen_ai.tool.name", name);
    set("gen_ai.tool.call.id", callId);
    set("gen_ai.tool.call.arguments", JSON.stringify(args));
    const answer = await answered("/tool", { name, arguments: args, call_id: callId });
    const result = answer?.answered ? answer.result : await lookUp(args.order_id);
    set("gen_ai.tool.call.result", JSON.stringify(result));
    return result;
  });
}

async function callModel(asked: Request): Promise<Message> {
  const answer = await answered("/model", asked);
  const request: Request = answer?.request ?? asked; // with the fork's override in it
  return span(`chat ${request.model}`, async (set) => {
    set("gen_ai.operation.name", "chat");
    set("gen_ai.request.model", request.model);
    set("gen_ai.system_instructions", JSON.stringify(request.system_instructions));
    set("gen_ai.input.messages", JSON.stringify(request.messages));
    const message: Message = answer?.answered ? answer.response.messages[0] : await send(request);
    set("gen_ai.output.messages", JSON.stringify([message]));
    return message;
  });
}

async function send(request: Request): Promise<Message> {
  const system = request.system_instructions.map((part) => ({ role: "system", content: part.content }));
  const tools = request.tools.map(({ type, ...definition }) => ({ type, function: definition }));
  const body = { model: request.model, messages: [...system, ...request.messages.flatMap(turns)], tools };
  const headers = { authorization: `Bearer ${process.env.OPENAI_API_KEY ?? "none-needed"}`, "content-type": "application/json" };
  const reply = await fetch(`${MODEL_URL}/chat/completions`, { method: "POST", headers, body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(`the model server answered ${reply.status}`);
  const [choice] = (await reply.json()).choices;
  const calls = (choice.message.tool_calls ?? []).map((call: Json) => ({
    type: "tool_call",
    id: call.id,
    name: call.function.name,
    arguments: JSON.parse(call.function.arguments),
  }));
  const text = choice.message.content ? [{ type: "text", content: choice.message.content }] : [];
  return { role: "assistant", parts: [...text, ...calls], finish_reason: choice.finish_reason };
}

/** A message of the GenAI schema as OpenAI's API has it. */
function turns(message: Message): Json[] {
  const of = (type: string) => message.parts.filter((part) => part.type === type);
  const results = of("tool_call_response");
  if (results.length) {
    return results.map((part) => ({ role: "tool", tool_call_id: part.id, content: JSON.stringify(part.response) }));
  }
  const content = of("text").map((part) => part.content).join("") || null;
  const tool_calls = of("tool_call").map((part) => ({
    id: part.id,
    type: "function",
    function: { name: part.name, arguments: JSON.stringify(part.arguments) },
  }));
  return [{ role: message.role, content, ...(tool_calls.length ? { tool_calls } : {}) }];
}

const traceId = randomBytes(16).toString("hex");
let parentSpanId = "";

/** Runs something as a span, and exports it as OTLP/JSON when it has ended. */
async function span<T>(name: string, run: (set: (key: string, value: string) => void) => Promise<T>): Promise<T> {
  const [spanId, parent, started] = [randomBytes(8).toString("hex"), parentSpanId, now()];
  const attributes: Json[] = [];
  let status = {};
  parentSpanId = spanId;
  try {
    return await run((key, value) => attributes.push({ key, value: { stringValue: value } }));
  } catch (error) {
    status = { code: 2, message: String(error) };
    throw error;
  } finally {
    parentSpanId = parent;
    const ended = { startTimeUnixNano: started, endTimeUnixNano: now(), attributes, status };
    await exported({ traceId, spanId, parentSpanId: parent, name, kind: 1, ...ended });
  }
}

async function exported(span: Json): Promise<void> {
  if (!OTLP) return;
  const scopeSpans = [{ scope: { name: "desk-ts" }, spans: [span] }];
  const resource = { attributes: [{ key: "service.name", value: { stringValue: "desk-ts" } }] };
  const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] });
  await fetch(`${OTLP}/v1/traces`, { method: "POST", headers: { "content-type": "application/json" }, body });
}

function now(): string {
  return String(BigInt(Date.now()) * 1_000_000n);
}

async function run(question: string): Promise<string> {
  const messages: Message[] = [{ role: "user", parts: [{ type: "text", content: question }] }];
  for (let round = 0; round < 8; round++) {
    const system_instructions = [{ type: "text", content: "You answer questions about orders." }];
    const message = await callModel({ model: "desk-large", messages, system_instructions, tools: TOOLS });
    const calls = message.parts.filter((part) => part.type === "tool_call");
    if (!calls.length) return message.parts.map((part) => part.content ?? "").join("");
    messages.push({ role: "assistant", parts: message.parts });
    for (const call of calls) {
      const response = await callTool(call.name, call.arguments, call.id);
      messages.push({ role: "tool", parts: [{ type: "tool_call_response", id: call.id, response }] });
    }
  }
  return "I am passing this on to a colleague.";
}

async function main(): Promise<void> {
  const inputs = JSON.parse(readFileSync(0, "utf8"));
  const question = typeof inputs === "string" ? inputs : inputs.message;
  const answer = await span("invoke_agent desk-ts", async (set) => {
    set("gen_ai.operation.name", "invoke_agent");
    set("gen_ai.agent.name", "desk-ts");
    return run(question);
  });
  console.log(answer);
  if (process.env.REJUDGE_OUTPUTS_FILE) writeFileSync(process.env.REJUDGE_OUTPUTS_FILE, JSON.stringify(answer));
}

main();
