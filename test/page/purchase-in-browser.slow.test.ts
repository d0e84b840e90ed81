/** Purchases through the page in Chromium, as a person makes them: reloads, tabs, wallets, and a malicious service. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodePaymentRequiredHeader, encodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import type { BrowserPage } from '../support/browser.ts'
import { runCommand } from '../support/cli.ts'
import {
  addWallet,
  click,
  DESKTOP,
  fill,
  holdRequests,
  pay,
  Refusal,
  useBrowser,
  seen,
  status,
  type Paused,
} from '../support/page.ts'
import { registerRow, toCsv } from '../support/register.ts'
import { startTestService } from '../support/service.ts'
import { useService } from '../support/use-service.ts'

/** Includes the start of the browser on a busy machine. */
const BROWSER_TIMEOUT_MS = 120_000
const STRANGER = '0x00000000000000000000000000000000000000d1'
const HOSTILE = '<img src=x onerror="globalThis.hacked=true"> <script>hacked=true</script> LIMITED'
const REGISTERED = [
  registerRow(),
  registerRow({ company_num: '11', company_name: 'FIRST TWIN LIMITED', eircode: '' }),
  registerRow({ company_num: '12', company_name: 'FIRST TWIN LIMITED', eircode: '' }),
  registerRow({ company_num: '13', company_name: HOSTILE, company_address_1: HOSTILE }),
]

describe('a purchase in the page', function () {
  this.timeout(BROWSER_TIMEOUT_MS)
  const browser = useBrowser()
  const { service } = useService(() =>
    startTestService({
      prepare: (directory) => writeFile(join(directory, 'register.csv'), toCsv(...REGISTERED)),
      configure: (config) => ({ ...config, dataset: join(config.dataDirectory, 'register.csv') }),
    }),
  )
  let page: BrowserPage

  beforeEach(async () => {
    page = await browser().open(DESKTOP)
  })

  const open = (path = '/') => page.goto(service.url + path)
  const answer = () => page.evaluate(`document.querySelector('#answer').innerText`) as Promise<string>

  const OPERATIONS: [operation: string, members: Record<string, string>, shown: RegExp][] = [
    ['lookup', {}, /SYNTHETIC TEST COMPANY LIMITED/],
    ['search', { q: 'plain fixture' }, /PLAIN FIXTURE LIMITED[^]*73848[^]*for\s/],
    ['resolve', { name: 'Plain Fixture Ltd', eircode: '' }, /This is PLAIN FIXTURE LIMITED, number 73848/],
    ['resolve', { name: 'First Twin Ltd', eircode: '' }, /a person has to choose[^]*FIRST TWIN[^]*FIRST TWIN/],
    ['resolve', { name: 'Nothing Of The Kind', eircode: '' }, /No company of the register/],
    ['history', {}, /to\s+today/],
    ['as_of', {}, /SYNTHETIC TEST COMPANY LIMITED/],
    ['changes', { since: new Date().toISOString().slice(0, 10) }, /No company has changed/],
  ]

  it('[4.4.2] buys each operation with the account of the sandbox, one payment each', async () => {
    await open()
    for (const [operation, members, shown] of OPERATIONS) {
      await fill(page, operation, members)
      const paid = await service.transfersOf(async () => {
        await pay(page)
        await status(page, /^Bought for/)
      })
      expect(paid, operation).to.equal(1)
      expect(await answer())
        .to.match(shown)
        .and.to.match(/Receipt verified/)
    }
    const checks = await page.evaluate(`[...document.querySelectorAll('#checks dd')].map(({ innerText }) => innerText)`)
    expect((checks as string[]).join('\n'))
      .to.contain(service.url)
      .and.contain(service.payTo)
      .and.contain('eip155:84532')
      .and.contain('0.001 USDC')
    expect(checks).to.have.length(8)
  })

  it('shows a refusal that is not charged', async () => {
    await open()
    await fill(page, 'lookup', { company_number: '999' })
    expect(await service.transfersOf(() => pay(page).then(() => status(page, /Nothing was charged/)))).to.equal(0)
    await fill(page, 'lookup', { company_number: 'abc' })
    const { length: sent } = page.requests
    await pay(page)
    expect(await page.evaluate(`document.querySelector('#ask input:invalid').validationMessage`)).to.match(
      /^must be 1 to 20 ASCII digits/,
    )
    expect(page.requests).to.have.length(sent)
  })

  it('pays once for a double click and in two tabs', async () => {
    await open()
    const other = await browser().open(DESKTOP, page)
    await other.goto(service.url)
    const paid = await service.transfersOf(async () => {
      await page.evaluate(`for (let turn = 0; turn < 3; turn += 1) document.querySelector('#pay button').click()`)
      await pay(other)
      await Promise.all([page, other].map((each) => status(each, /^Bought/)))
    })
    expect(paid).to.equal(1)
  })

  /** The points at which a purchase waits, in order. */
  const AWAITS: Record<string, (paused: Paused) => boolean> = {
    'the quote is requested': ({ url, isPaid, isAnswered }) => url.includes('/company/') && !isPaid && !isAnswered,
    'the quote arrives': ({ url, isPaid, isAnswered }) => url.includes('/company/') && !isPaid && isAnswered,
    'the receiver arrives': ({ url, isAnswered }) => url.includes('/meta') && isAnswered,
    'the signature is requested': ({ url, isAnswered }) => url.includes('/signature') && !isAnswered,
    'the signature arrives': ({ url, isAnswered }) => url.includes('/signature') && isAnswered,
    'the payment is sent': ({ isPaid, isAnswered }) => isPaid && !isAnswered,
    'the answer arrives': ({ isPaid, isAnswered }) => isPaid && isAnswered,
    'the keys are requested': ({ url, isAnswered }) => url.includes('jwks') && !isAnswered,
  }

  for (const [point, isHere] of Object.entries(AWAITS)) {
    it(`pays once, and shows the answer, after a reload while ${point}`, async () => {
      await open()
      const paid = await service.transfersOf(async () => {
        let isLeft = false
        const reached = new Promise<void>((resolve) => {
          const hold = (paused: Paused) => (isHere(paused) && !isLeft ? resolve() : void paused.continue())
          void holdRequests(page, hold).then(() => pay(page))
        })
        await reached
        isLeft = true
        await open()
        await seen(page, '#state', /companies/)
        const isStored = ((await page.evaluate(`document.querySelector('#bought').innerText`)) as string).includes(
          'lookup',
        )
        if (!isStored) await pay(page)
        await status(page, /^(?:Bought|Paid)/)
      })
      expect(paid).to.equal(1)
      expect(await answer()).to.match(/SYNTHETIC TEST COMPANY LIMITED/)
    })
  }

  it('sends the same payment again after 503 and a lost connection', async () => {
    await open()
    const sent: string[] = []
    await holdRequests(page, (paused) => {
      if (!paused.isPaid || !paused.isAnswered || sent.push(paused.url) > 2) return void paused.continue()
      const error = JSON.stringify({ error: { code: 'payment_outcome_unknown', message: 'Unknown.' } })
      void paused.fulfill(503, { 'Content-Type': 'application/json', 'Retry-After': '1' }, error)
    })
    expect(await service.transfersOf(() => pay(page).then(() => status(page, /^Bought/)))).to.equal(1)
    expect(sent).to.have.length(3)
  })

  it('signs nothing if the browser cannot store', async () => {
    const deny = `Object.defineProperty(window, 'sessionStorage', { get: () => { throw new Error() } })`
    await page.addInitScript(`IDBObjectStore.prototype.put = () => { throw new Error() }; ${deny}`)
    const calls = await addWallet(page, service)
    await open()
    await pay(page, 'stub')
    await status(page, /cannot keep a payment/)
    expect(calls).to.deep.equal([])
  })

  it('keeps a file that the command verify accepts', async () => {
    await open()
    await pay(page)
    await status(page, /^Bought/)
    await seen(page, '#bought', /lookup/)
    await page.evaluate(
      `URL.createObjectURL = (blob) => { blob.text().then((text) => { globalThis.saved = text }); return '#' }`,
    )
    await click(page, '#bought li button:last-child')
    const text = (await page.evaluate(
      'new Promise((resolve) => setTimeout(() => resolve(globalThis.saved), 300))',
    )) as string
    const file = join(service.directory, 'purchase.json')
    await writeFile(file, text)
    expect((await runCommand(['verify', file])).code).to.equal(0)
  })

  it('fills the form in from the URL of a quote', async () => {
    await open('/?operation=search&q=first+twin&limit=3')
    expect(await page.evaluate(`document.querySelector('#search-q').value`)).to.equal('first twin')
    await pay(page)
    await status(page, /^Bought/)
    expect(await answer()).to.contain('FIRST TWIN LIMITED')
    await page.selectOption('[name=operation]', 'resolve')
    await open('/docs/api')
    await page.goBack()
    expect(await seen(page, '#total', /./)).to.contain('0.002 USDC')
  })

  describe('with a wallet', () => {
    it('shows the checks, and pays with its account', async () => {
      const calls = await addWallet(page, service)
      await open()
      expect(await page.evaluate(`document.querySelector('[name=wallet]').innerText`)).to.contain('Stub <b>wallet</b>')
      expect(await service.transfersOf(() => pay(page, 'stub').then(() => status(page, /^Bought/)))).to.equal(1)
      expect(calls).to.deep.equal([
        'eth_requestAccounts',
        'eth_chainId',
        'eth_chainId',
        'eth_call',
        'eth_signTypedData_v4',
      ])
    })

    it('chooses the network of the service in it', async () => {
      let chain = '0x1'
      const calls = await addWallet(page, service, {
        eth_chainId: () => chain,
        wallet_switchEthereumChain: () => void (chain = '0x14a34'),
      })
      await open()
      await pay(page, 'stub')
      await status(page, /^Bought/)
      expect(calls.filter((call) => call === 'eth_chainId')).to.have.length(2)
    })

    const REFUSALS: Record<string, [change: Parameters<typeof addWallet>[2], shown: RegExp]> = {
      'its user has not answered': [{ eth_requestAccounts: () => new Refusal(-32002) }, /^The wallet waits/],
      'its user refuses': [{ eth_signTypedData_v4: () => new Refusal(4001) }, /^You refused/],
      'it stays on another network': [{ eth_chainId: () => '0x1' }, /another network/],
      'it does not know the network': [
        { eth_chainId: () => '0x1', wallet_switchEthereumChain: () => new Refusal(4902) },
        /does not know the network/,
      ],
      'its account has no money': [{ eth_call: () => `0x${'0'.repeat(64)}` }, /The account has 0 USDC/],
      'it shows no balance': [{ eth_call: () => '0x' }, /The account has 0 USDC/],
      'its account is no address': [{ eth_requestAccounts: () => ['0x1'] }, /shows no account/],
    }
    for (const [what, [change, shown]] of Object.entries(REFUSALS)) {
      it(`pays nothing if ${what}`, async () => {
        await addWallet(page, service, change)
        await open()
        expect(await service.transfersOf(() => pay(page, 'stub').then(() => status(page, shown)))).to.equal(0)
        expect(await page.evaluate(`document.querySelector('#bought').innerText`)).to.contain('nothing yet')
      })
    }
  })

  describe('of a malicious service', () => {
    type Quote = ReturnType<typeof decodePaymentRequiredHeader>
    const QUOTES: Record<string, (quote: Quote) => void> = {
      'another receiver': ({ accepts }) => void (accepts[0]!.payTo = STRANGER),
      'another resource': ({ resource }) => void (resource.url = `${service.url}/api/v1/company/73848`),
    }
    for (const [what, change] of Object.entries(QUOTES)) {
      it(`gets no signature for a quote with ${what}`, async () => {
        await holdRequests(page, (paused) => {
          const header = paused.responseHeaders.find(({ name }) => name.toUpperCase() === 'PAYMENT-REQUIRED')
          if (!header) return void paused.continue()
          const quote = decodePaymentRequiredHeader(header.value)
          change(quote)
          void paused.fulfill(402, { 'PAYMENT-REQUIRED': encodePaymentRequiredHeader(quote) }, '{}')
        })
        const calls = await addWallet(page, service)
        await open()
        await pay(page, 'stub')
        await status(page, /Nothing was signed/)
        expect(calls).to.not.include('eth_signTypedData_v4')
      })
    }

    it('gets one signature for an endless 402', async () => {
      const refusal = JSON.stringify({ error: { code: 'payment_invalid', message: 'No.' } })
      await holdRequests(page, (paused) => void (paused.isPaid ? paused.fulfill(402, {}, refusal) : paused.continue()))
      const calls = await addWallet(page, service)
      await open()
      for (let turn = 0; turn < 3; turn += 1) {
        await pay(page, 'stub')
        await status(page, /The service answered 402/)
      }
      expect(calls.filter((call) => call === 'eth_signTypedData_v4')).to.have.length(1)
    })

    it('gets no script into the page by a name, an address or an error', async () => {
      await open()
      await fill(page, 'lookup', { company_number: '13' })
      await pay(page)
      await status(page, /^Bought/)
      expect(await answer()).to.contain('<script>hacked=true</script>')
      await holdRequests(
        page,
        (paused) =>
          void (paused.isAnswered && paused.url.includes('/company/12')
            ? paused.fulfill(404, {}, JSON.stringify({ error: { code: 'x', message: HOSTILE } }))
            : paused.continue()),
      )
      await fill(page, 'lookup', { company_number: '12' })
      await pay(page)
      await status(page, /<script>hacked=true/)
      expect(
        await page.evaluate(`[globalThis.hacked ?? false, document.querySelectorAll('main img').length]`),
      ).to.deep.equal([false, 0])
    })
  })
})
