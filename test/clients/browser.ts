/** Stock packages, bundled for a browser, buy from a page of another origin. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { findBrowser, openBrowser } from '../support/browser.ts'

export const BROWSER_KITS = ['@x402/fetch', '@x402/axios'] as const

const ENTRY = fileURLToPath(new URL('in-browser.js', import.meta.resolve('#root/test/clients/package.json')))
const JSON_BODY = { 'Content-Type': 'application/json' }
const LOOKUP = { company_number: '00000000' }

/** A GET, a POST and a batch. */
const listRequests = (url: string) => [
  { method: 'GET', url: `${url}/api/v1/company/${LOOKUP.company_number}` },
  { method: 'POST', url: `${url}/api/v1/resolve`, headers: JSON_BODY, body: JSON.stringify(LOOKUP) },
  {
    method: 'POST',
    url: `${url}/api/v1/batch`,
    headers: JSON_BODY,
    body: JSON.stringify({ operation: 'lookup', inputs: [LOOKUP, LOOKUP] }),
  },
]

/** The receipts by kit. A purchase that fails has an error instead. */
export async function buyInBrowser(url: string, key: string): Promise<Map<string, string[]>> {
  const program = findBrowser()
  if (program === undefined) throw new Error('chromium is not on the PATH')
  const options = { bundle: true, write: false, format: 'iife', platform: 'browser', logLevel: 'silent' } as const
  const { outputFiles } = await build({ entryPoints: [ENTRY], ...options })
  const page = `<!doctype html><title>Buyer</title><script>${outputFiles[0]?.text.replaceAll('</script', '<\\/script')}</script>`
  const server = createServer((_request, response) => response.setHeader('Content-Type', 'text/html').end(page))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const browser = await openBrowser(program)
  try {
    const tab = await browser.open({ width: 800, height: 600 })
    await tab.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    const bought = new Map<string, string[]>()
    for (const kit of BROWSER_KITS) {
      const receipts = []
      for (const request of listRequests(url)) {
        const [status, receipt] = (await tab.evaluate(
          `buyWith(${[kit, key, request].map((each) => JSON.stringify(each)).join(', ')}).catch((error) => [0, String(error)])`,
        )) as [number, string | null]
        receipts.push(status === 200 && receipt !== null ? receipt : `${status} ${receipt}`)
      }
      bought.set(kit, receipts)
    }
    return bought
  } finally {
    await browser.close()
    server.close()
  }
}
