import { keepPreviousData, useMutation, useQueryClient } from '@tanstack/react-query'
import { type Answer, API_ROUTES, type ApiName, type ErrorAnswer, type Input } from '../../../src/api-routes.ts'

/** A refusal of the server, or a missing answer, in words for the page. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, { error, message }: ErrorAnswer) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = error
  }
}

const UNREACHABLE: ErrorAnswer = {
  error: 'unreachable',
  message: 'The console does not answer. Check that its process runs; this page retries.',
}

const CUT_OFF: ErrorAnswer = {
  error: 'cut-off',
  message:
    'The download ended early, so no file was saved: the connection broke, or it has more than 256 MiB. Try again, or run nextvisit users export on a terminal.',
}
/** The browser has begun to save by then. */
const REVOKE_AFTER_MS = 60_000
const LAST_BYTES = 64 * 1_024

/** The server waits at most 3 s for a service. */
const ANSWER_WITHIN_MS = 8_000
export const RELOAD_AFTER_MS = 10_000
/** For changes, and for routes that read much of the log. */
export const LONG_ANSWER_WITHIN_MS = 20_000

function late(withinMs: number): ErrorAnswer {
  const message = `The console has not answered for ${withinMs / 1_000} s: the console or a service behind it is overloaded or hangs. If the Overview opens, it names the service. Otherwise check the process of the console.`
  return { error: 'late', message }
}

/** Sends a call. Members of the input that are not in the path go into the query or the body. undefined: no answer came. */
function send<Name extends ApiName>(
  name: Name,
  input: Input<Name>,
  signal?: AbortSignal,
): Promise<Response | undefined> {
  const { method, path } = API_ROUTES[name]
  const members = new Map(Object.entries(input).filter(([, value]) => value !== undefined))
  const address = path.replaceAll(/:(\w+)/g, (_, member: string) => {
    const value = encodeURIComponent(String(members.get(member)))
    members.delete(member)
    return value
  })
  const url = new URL(`api/${address}`, document.baseURI)
  if (method === 'GET') for (const [member, value] of members) url.searchParams.set(member, String(value))
  return fetch(url, {
    method,
    // A page of another site cannot set this header.
    headers: { 'content-type': 'application/json', 'x-nextvisit-console': '1' },
    ...(method === 'POST' && { body: JSON.stringify(Object.fromEntries(members)) }),
    ...(signal && { signal }),
  }).catch(() => undefined)
}

/** Calls a route of the console's API. `leaving` ends the request, and the console's work for it. */
export async function callApi<Name extends ApiName>(
  name: Name,
  input: Input<Name>,
  withinMs: number = API_ROUTES[name].method === 'GET' ? ANSWER_WITHIN_MS : LONG_ANSWER_WITHIN_MS,
  leaving?: AbortSignal,
): Promise<Answer<Name>> {
  const overdue = AbortSignal.timeout(withinMs)
  const failed = () => new ApiError(0, overdue.aborted ? late(withinMs) : UNREACHABLE)
  const response = await send(name, input, leaving ? AbortSignal.any([overdue, leaving]) : overdue)
  if (!response) throw failed()
  const answer: unknown = await response.json().catch(() => undefined)
  if (answer === undefined) throw failed()
  if (response.ok) return answer as Answer<Name>
  throw new ApiError(response.status, answer as ErrorAnswer)
}

/** Calls a route whose answer is a file, and has the browser save it. Resolves to its last bytes as text. */
export async function download(name: 'exportUser', input: Input<'exportUser'>, fileName: string): Promise<string> {
  const response = await send(name, input)
  if (!response) throw new ApiError(0, UNREACHABLE)
  if (!response.ok)
    throw new ApiError(response.status, await (response.json() as Promise<ErrorAnswer>).catch(() => UNREACHABLE))
  const file = await response.blob().catch(() => undefined)
  if (!file) throw new ApiError(0, CUT_OFF)
  saveFile(fileName, file)
  return file.slice(-LAST_BYTES).text()
}

/** Has the browser save a file. */
export function saveFile(name: string, content: Blob | string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([content]))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), REVOKE_AFTER_MS)
}

/** Options of `useQuery` for a route. Its answers are cached by name and input. */
export function apiQuery<Name extends ApiName>(name: Name, input: Input<Name>, withinMs?: number) {
  return {
    queryKey: [name, input] as const,
    queryFn: ({ signal }: { readonly signal: AbortSignal }) => callApi(name, input, withinMs, signal),
  }
}

/** Options of `useQuery` for a page of a list. It is reloaded, and stays visible while the next page loads. */
export function pageQuery<Name extends ApiName>(name: Name, input: Input<Name>) {
  return { ...apiQuery(name, input), refetchInterval: RELOAD_AFTER_MS, placeholderData: keepPreviousData }
}

/** Calls a route that changes something, then reloads the answers of the routes that show it. */
export function useChange<Name extends ApiName>(name: Name, ...shownBy: readonly ApiName[]) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (input: Input<Name>) => callApi(name, input),
    onSettled: () => Promise.all(shownBy.map((shown) => client.invalidateQueries({ queryKey: [shown] }))),
  })
}
