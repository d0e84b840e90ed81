/** The page in Chromium: its actions, held requests, and a wallet that signs with viem. */
import type { Context } from 'mocha'
import { privateKeyToAccount } from 'viem/accounts'
import { rpc } from './chain.ts'
import { findBrowser, openBrowser, type Browser, type BrowserPage, type View } from './browser.ts'
import type { TestService } from './service.ts'

export const DESKTOP: View = { width: 1280, height: 900, isMobile: false, scheme: 'light' }
const SANDBOX_CHAIN = '0x14a34'

/** Skips the tests without a browser, but not in the continuous integration. */
export async function requireBrowser(context: Context): Promise<Browser> {
  const program = findBrowser()
  if (program !== undefined) return openBrowser(program)
  if (process.env['CI'] !== undefined) throw new Error('chromium is not on the PATH; .ci/run installs it')
  console.warn('\nSKIPPED: the browser tests of the page, because chromium is not on the PATH\n')
  return context.skip()
}

/** Resolves with the shown text when it matches, and rejects with it after ten seconds. */
export async function seen(page: BrowserPage, selector: string, pattern: RegExp): Promise<string> {
  return (await page.run(`(async () => {
    for (let turn = 0; turn < 400; turn += 1) {
      const text = document.querySelector(${JSON.stringify(selector)})?.innerText ?? ''
      if (${String(pattern)}.test(text)) return text
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    throw new Error('${selector} shows: ' + document.querySelector(${JSON.stringify(selector)})?.innerText)
  })()`)) as string
}

export const status = (page: BrowserPage, pattern: RegExp) => seen(page, '#status', pattern)

export const click = (page: BrowserPage, selector: string) =>
  page.run(`document.querySelector(${JSON.stringify(selector)}).click()`)

/** Chooses an operation and fills in its members. */
export async function fill(page: BrowserPage, operation: string, members: Record<string, string> = {}) {
  await page.run(`(() => {
    document.querySelector('[name=operation]').value = '${operation}'
    for (const [name, value] of Object.entries(${JSON.stringify(members)}))
      document.querySelector('fieldset[name=${operation}] [name=' + name + ']').value = value
    document.querySelector('#ask').dispatchEvent(new Event('input'))
  })()`)
}

export async function pay(page: BrowserPage, wallet: 'sandbox' | 'stub' = 'sandbox') {
  await page.run(`document.querySelector('[name=wallet]').value = '${wallet}'`)
  await click(page, '#pay button')
}

export interface Paused {
  url: string
  method: string
  isPaid: boolean
  /** Whether the service has answered. */
  isAnswered: boolean
  responseHeaders: { name: string; value: string }[]
  continue: () => Promise<unknown>
  fulfill: (status: number, headers: Record<string, string>, body: string) => Promise<unknown>
  readBody: () => Promise<string>
}

/** Holds each request of the page twice: before it is sent, and before its answer is delivered. */
export async function holdRequests(page: BrowserPage, onPaused: (paused: Paused) => void): Promise<void> {
  page.onEvent = (event, params) => {
    if (event !== 'Fetch.requestPaused') return
    const {
      requestId,
      request,
      responseStatusCode,
      responseHeaders = [],
    } = params as {
      requestId: string
      request: { url: string; method: string; headers: Record<string, string> }
      responseStatusCode?: number
      responseHeaders?: Paused['responseHeaders']
    }
    // The page may have left.
    const send = (method: string, more = {}) => page.send(method, { requestId, ...more }).catch(() => ({}))
    const isPaid = Object.keys(request.headers).some((name) => name.toLowerCase() === 'payment-signature')
    onPaused({
      url: request.url,
      method: request.method,
      isPaid,
      isAnswered: responseStatusCode !== undefined,
      responseHeaders,
      continue: () => send('Fetch.continueRequest'),
      fulfill: (responseCode, headers, body) =>
        send('Fetch.fulfillRequest', {
          responseCode,
          responseHeaders: Object.entries(headers).map(([name, value]) => ({ name, value })),
          body: Buffer.from(body).toString('base64'),
        }),
      async readBody() {
        const { body, base64Encoded } = (await send('Fetch.getResponseBody')) as {
          body: string
          base64Encoded: boolean
        }
        return base64Encoded ? Buffer.from(body, 'base64').toString() : body
      },
    })
  }
  const stages = ['Request', 'Response'].map((requestStage) => ({ urlPattern: '*', requestStage }))
  await page.send('Fetch.enable', { patterns: stages })
}

/** An error that a wallet answers with. */
export class Refusal {
  readonly code: number
  constructor(code: number) {
    this.code = code
  }
}

type Answers = Partial<Record<string, (params: readonly unknown[]) => unknown>>

/** Puts a wallet into the page, with the key of the sandbox's buyer. `change` replaces answers. Returns its calls. */
export async function addWallet(page: BrowserPage, service: TestService, change: Answers = {}): Promise<string[]> {
  const account = privateKeyToAccount(service.buyerKey)
  const calls: string[] = []
  const answers: Answers = {
    eth_requestAccounts: () => [account.address],
    eth_chainId: () => SANDBOX_CHAIN,
    eth_call: (params) => rpc(service.rpcUrl, 'eth_call', ...params),
    eth_signTypedData_v4: ([, typed]) => account.signTypedData(JSON.parse(String(typed)) as never),
    ...change,
  }
  const before = page.onEvent
  page.onEvent = (event, params) => {
    before(event, params)
    if (event !== 'Runtime.bindingCalled') return
    const {
      id,
      method,
      params: given = [],
    } = JSON.parse(String(params['payload'])) as {
      id: number
      method: string
      params?: unknown[]
    }
    calls.push(method)
    const answer = Promise.resolve().then(() => answers[method]?.(given))
    void answer
      .catch((cause: unknown) => cause)
      .then((value) => page.run(`answerWallet(${id}, ${JSON.stringify(value ?? null)})`))
      .catch(() => undefined)
  }
  await page.send('Runtime.addBinding', { name: 'askWallet' })
  await page.send('Page.addScriptToEvaluateOnNewDocument', { source: `(${String(installWallet)})()` })
  return calls
}

/** Run in the page. */
function installWallet() {
  const shared = globalThis as unknown as {
    askWallet: (call: string) => void
    answerWallet: (id: number, value: unknown) => void
    CustomEvent: new (name: string, init: object) => Event
    addEventListener: (name: string, listener: () => void) => void
    dispatchEvent: (event: Event) => boolean
  }
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (cause: unknown) => void }>()
  shared.answerWallet = (id, value) => {
    const call = waiting.get(id)
    if (value !== null && typeof value === 'object' && 'code' in value) call?.reject(value)
    else call?.resolve(value)
  }
  const request = (call: object) =>
    new Promise((resolve, reject) => {
      waiting.set(waiting.size, { resolve, reject })
      shared.askWallet(JSON.stringify({ id: waiting.size - 1, ...call }))
    })
  const info = { uuid: 'stub', name: 'Stub <b>wallet</b>' }
  const detail = Object.freeze({ info, provider: { request } })
  shared.addEventListener('eip6963:requestProvider', () =>
    shared.dispatchEvent(new shared.CustomEvent('eip6963:announceProvider', { detail })),
  )
}
