/** Headless Chromium over its DevTools pipe. A page has a size, and records its requests and errors. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'

/** Longer than the tests of a file. */
const LIFETIME_MS = 300_000
const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

/** The path of a browser on the PATH, if any. */
export function findBrowser(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path))
}

export interface View {
  width: number
  height: number
  isMobile: boolean
  scheme: 'light' | 'dark'
}

interface DevToolsMessage {
  id?: number
  sessionId?: string
  method?: string
  params?: Record<string, unknown>
  result?: Record<string, unknown>
  error?: { message: string }
}

export type Browser = Awaited<ReturnType<typeof openBrowser>>
export type BrowserPage = Awaited<ReturnType<Browser['open']>>

export async function openBrowser(program: string) {
  const profile = await mkdtemp(join(tmpdir(), 'browser-'))
  const flags = [
    '--headless=new',
    '--remote-debugging-pipe',
    `--user-data-dir=${profile}`,
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--hide-scrollbars',
  ]
  const child = spawn(program, [...flags, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    timeout: LIFETIME_MS,
  })
  const ended = new Promise<void>((resolve) => void child.once('exit', () => resolve()))
  const pipe = new DevToolsPipe(child.stdio[3] as Writable, child.stdio[4] as Readable)

  return {
    /** Opens an empty page. Without the profile of another page, it has storage of its own. */
    async open({ width, height, isMobile, scheme }: View, profileOf?: { browserContextId: string }) {
      const { browserContextId } = profileOf ?? (await pipe.send('Target.createBrowserContext'))
      const { targetId } = await pipe.send('Target.createTarget', { url: 'about:blank', browserContextId })
      const { sessionId } = await pipe.send('Target.attachToTarget', { targetId, flatten: true })
      const page = new DevToolsPage(pipe, String(sessionId), String(browserContextId))
      await page.begin()
      await page.send('Emulation.setDeviceMetricsOverride', { width, height, mobile: isMobile, deviceScaleFactor: 1 })
      const features = [{ name: 'prefers-color-scheme', value: scheme }]
      await page.send('Emulation.setEmulatedMedia', { features })
      return page
    },
    async close() {
      await pipe.send('Browser.close').catch(() => undefined)
      child.kill('SIGKILL')
      await ended
      await rm(profile, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

class DevToolsPage {
  /** Every requested URL. */
  readonly requests: string[] = []
  /** Errors of scripts, of the console, and of failed loads. */
  readonly errors: string[] = []
  readonly browserContextId: string
  /** Called for each event of the DevTools protocol. */
  onEvent: (method: string, params: Record<string, unknown>) => void = () => undefined
  readonly #pipe: DevToolsPipe
  readonly #session: string
  #loaded = () => undefined as void

  constructor(pipe: DevToolsPipe, session: string, browserContextId: string) {
    this.browserContextId = browserContextId
    this.#pipe = pipe
    this.#session = session
  }

  async begin(): Promise<void> {
    this.#pipe.listeners.set(this.#session, (method, params) => {
      this.#record(method, params)
      this.onEvent(method, params)
    })
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await this.send(`${domain}.enable`)
  }

  send(method: string, params: object = {}) {
    return this.#pipe.send(method, params, this.#session)
  }

  /** Resolves when everything is loaded. */
  async goTo(url: string): Promise<void> {
    const loaded = new Promise<void>((resolve) => (this.#loaded = resolve))
    await this.send('Page.navigate', { url })
    await loaded
  }

  /** Evaluates an expression in the page and awaits its promise. */
  async run(expression: string): Promise<unknown> {
    const { result, exceptionDetails } = (await this.send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })) as { result: { value?: unknown }; exceptionDetails?: { exception?: { description?: string } } }
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? 'The page threw')
    return result.value
  }

  #record(method: string, params: Record<string, unknown>): void {
    if (method === 'Page.loadEventFired') this.#loaded()
    if (method === 'Network.requestWillBeSent') this.requests.push((params['request'] as { url: string }).url)
    if (method === 'Runtime.exceptionThrown') this.errors.push(JSON.stringify(params['exceptionDetails']))
    if (method === 'Runtime.consoleAPICalled' && params['type'] === 'error')
      this.errors.push(JSON.stringify(params['args']))
    const { level, text } = (params['entry'] ?? {}) as { level?: string; text?: string }
    if (method === 'Log.entryAdded' && level === 'error') this.errors.push(String(text))
  }
}

/** The DevTools protocol over two pipes: JSON texts, each followed by NUL. */
class DevToolsPipe {
  readonly #to: Writable
  readonly #waiting = new Map<number, (message: DevToolsMessage) => void>()
  /** By session. */
  readonly listeners = new Map<string, (method: string, params: Record<string, unknown>) => void>()
  #sent = 0
  #rest = ''

  constructor(to: Writable, from: Readable) {
    this.#to = to
    to.on('error', () => this.#end())
    from.setEncoding('utf8').on('data', (text: string) => this.#read(text))
    from.on('close', () => this.#end())
  }

  send(method: string, params: object = {}, sessionId?: string): Promise<Record<string, unknown>> {
    const id = (this.#sent += 1)
    this.#to.write(`${JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) })}\0`)
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ result = {}, error }) => {
        if (error) reject(new Error(`${method}: ${error.message}`))
        else resolve(result)
      })
    })
  }

  #read(text: string): void {
    const messages = (this.#rest + text).split('\0')
    this.#rest = messages.pop() ?? ''
    for (const message of messages) this.#dispatch(JSON.parse(message) as DevToolsMessage)
  }

  #dispatch(message: DevToolsMessage): void {
    const { id, sessionId = '', method, params = {} } = message
    if (method !== undefined) return this.listeners.get(sessionId)?.(method, params)
    this.#waiting.get(id ?? 0)?.(message)
    this.#waiting.delete(id ?? 0)
  }

  #end(): void {
    for (const settle of this.#waiting.values()) settle({ error: { message: 'the browser has exited' } })
    this.#waiting.clear()
  }
}
