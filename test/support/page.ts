/** The page in Chromium: its actions, held requests, and a wallet that signs with viem. */
import { privateKeyToAccount } from 'viem/accounts'
import { rpc } from './chain.ts'
import { findBrowser, openBrowser, type Browser, type BrowserPage } from './browser.ts'
import type { TestService } from './service.ts'
import { useService } from './use-service.ts'
import { needProgram } from './programs.ts'

export const DESKTOP = { width: 1280, height: 900 }
const SANDBOX_CHAIN = '0x14a34'

/** A service for the tests of a group, and for each test its page in a new context, with its actions. */
export function usePage(start: () => Promise<TestService>) {
  const browser = useBrowser()
  const { service } = useService(start)
  let current: BrowserPage
  beforeEach(async () => {
    current = await browser().open(DESKTOP)
  })
  const get = (_: BrowserPage, name: string) => {
    const value = Reflect.get(current, name) as unknown
    return typeof value === 'function' ? (value.bind(current) as unknown) : value
  }
  const page = new Proxy({} as BrowserPage, { get: get as never })
  /** Opens a URL in another tab of the same browser. */
  const openBeside = async (path: string) => {
    const other = await browser().open(DESKTOP, current)
    await other.goto(service.url + path)
    return { page: other, ...actionsOf(() => other, service) }
  }
  return { service, page, openBeside, ...actionsOf(() => current, service) }
}

function actionsOf(page: () => BrowserPage, service: TestService) {
  const on =
    <Rest extends unknown[], Result>(act: (page: BrowserPage, ...rest: Rest) => Result) =>
    (...rest: Rest) =>
      act(page(), ...rest)
  return {
    open: (path = '/') => page().goto(service.url + path),
    addWallet: (change?: Answers) => addWallet(page(), service, change),
    ask: on(ask),
    click: on(click),
    fill: on(fill),
    holdRequests: on(holdRequests),
    pay: on(pay),
    savedBy: on(savedBy),
    seen: on(seen),
    sold: on(sold),
    status: on(status),
  }
}

/** A browser for the tests of a group. */
function useBrowser(): () => Browser {
  let browser: Browser | undefined
  before(async function () {
    browser = await openBrowser(needProgram(this, 'chromium', findBrowser()))
  })
  after(() => browser?.close())
  return () => browser!
}

/** Resolves with the shown text when it matches, also in the next document, and rejects with it after a minute. */
export async function seen(page: BrowserPage, selector: string, pattern: RegExp): Promise<string> {
  const wait = `(async () => {
    for (let turn = 0; turn < 2400; turn += 1) {
      const text = document.querySelector(${JSON.stringify(selector)})?.innerText ?? ''
      if (${String(pattern)}.test(text)) return text
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    throw new Error('${selector} shows: ' + document.querySelector(${JSON.stringify(selector)})?.innerText)
  })()`
  for (;;) {
    const text = (await page.evaluate(wait).catch(ifLeft)) as string | undefined
    if (text !== undefined) return text
  }
}

/** Ignores the failure of an evaluation that a navigation has ended. */
const ifLeft = (cause: unknown) => {
  if (!/context was destroyed|because of a navigation/.test(String(cause))) throw cause
}

const status = (page: BrowserPage, pattern: RegExp) => seen(page, '#status', pattern)

/** Resolves with the text of the answer when it matches. */
export const sold = (page: BrowserPage, pattern = /./) => seen(page, '.answered #answer', pattern)

/** A click of the browser, so that it can leave the document. */
export const click = (page: BrowserPage, selector: string) => page.click(selector)

/** Fills in members of the form that is shown. */
async function fill(page: BrowserPage, members: Record<string, string>) {
  for (const [name, value] of Object.entries(members)) await page.fill(`fieldset:enabled [name=${name}]`, value)
}

/** Types into the box, and pays. */
export async function ask(page: BrowserPage, text: string, wallet: 'sandbox' | 'stub' = 'sandbox') {
  await fill(page, { text })
  await pay(page, wallet)
}

export async function pay(page: BrowserPage, wallet: 'sandbox' | 'stub' = 'sandbox') {
  await page.evaluate(`document.querySelector('#wallet').value = '${wallet}'; document.querySelector('#go').click()`)
}

/** The text of the file that a click saves. */
async function savedBy(page: BrowserPage, selector: string): Promise<string> {
  await page.evaluate(`globalThis.saved = undefined
  URL.createObjectURL = (blob) => {
    globalThis.saved = blob.text()
    return '#'
  }`)
  await click(page, selector)
  await page.waitForFunction('globalThis.saved !== undefined')
  return (await page.evaluate('globalThis.saved')) as string
}

export interface Paused {
  url: string
  isPaid: boolean
  /** Whether the service has answered. */
  isAnswered: boolean
  responseHeaders: { name: string; value: string }[]
  continue: () => Promise<unknown>
  fulfill: (status: number, headers: Record<string, string>, body: string) => Promise<unknown>
}

/** Holds each request of the page twice: before it is sent, and before its answer is delivered. */
async function holdRequests(page: BrowserPage, onPaused: (paused: Paused) => void): Promise<void> {
  const session = await page.context().newCDPSession(page)
  session.on('Fetch.requestPaused', ({ requestId, request, responseStatusCode, responseHeaders = [] }) => {
    // The page may have left.
    const ignore = () => undefined
    onPaused({
      url: request.url,
      isPaid: Object.keys(request.headers).some((name) => name.toLowerCase() === 'payment-signature'),
      isAnswered: responseStatusCode !== undefined,
      responseHeaders,
      continue: () => session.send('Fetch.continueRequest', { requestId }).catch(ignore),
      fulfill: (responseCode, headers, body) =>
        session
          .send('Fetch.fulfillRequest', {
            requestId,
            responseCode,
            responseHeaders: Object.entries(headers).map(([name, value]) => ({ name, value })),
            body: Buffer.from(body).toString('base64'),
          })
          .catch(ignore),
    })
  })
  const stages = (['Request', 'Response'] as const).map((requestStage) => ({ urlPattern: '*', requestStage }))
  await session.send('Fetch.enable', { patterns: stages })
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
async function addWallet(page: BrowserPage, service: TestService, change: Answers = {}): Promise<string[]> {
  const account = privateKeyToAccount(service.buyerKey)
  const calls: string[] = []
  const answers: Answers = {
    eth_requestAccounts: () => [account.address],
    eth_chainId: () => SANDBOX_CHAIN,
    eth_call: (params) => rpc(service.rpcUrl, 'eth_call', ...params),
    // With the recovery id, as some hardware wallets.
    eth_signTypedData_v4: async ([, typed]) =>
      (await account.signTypedData(JSON.parse(String(typed)) as never)).replace(/1b$/, '00').replace(/1c$/, '01'),
  }
  await page.exposeFunction('askWallet', async ({ method, params = [] }: { method: string; params?: unknown[] }) => {
    calls.push(method)
    // A change that answers nothing leaves the answer of the account.
    return (await change[method]?.(params)) ?? (await answers[method]?.(params)) ?? null
  })
  await page.addInitScript(WALLET)
  return calls
}

/** Run in the page. A refusal of the test's wallet is an error with a `code`. */
const WALLET = `{
  const request = async (call) => {
    const value = await askWallet(call)
    if (value?.code !== undefined) throw value
    return value
  }
  const detail = Object.freeze({ info: { uuid: 'stub', name: 'Stub <b>wallet</b>' }, provider: { request } })
  const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
  addEventListener('eip6963:requestProvider', announce)
}`
