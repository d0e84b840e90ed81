/** Purchases through the page in Chromium, as a person makes them: reloads, tabs, wallets, and a malicious service. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodePaymentRequiredHeader, encodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import { runCommand } from '../../support/cli.ts'
import { Refusal, usePage, type Paused } from '../../support/page.ts'
import { registerRow, toCsv } from '../../support/register.ts'
import { startTestService } from '../../support/service.ts'

const STRANGER = '0x00000000000000000000000000000000000000d1'
const SYNTHETIC = '/?operation=lookup&company_number=00000000'
/** Whether the storage has a purchase, whose names begin with a hash. */
const STORED = `new Promise((resolve) => {
  const request = indexedDB.open('irish-company-purchases')
  request.onsuccess = () => {
    if (!request.result.objectStoreNames.contains('entries')) return resolve(false)
    const keys = request.result.transaction('entries').objectStore('entries').getAllKeys()
    keys.onsuccess = () => resolve(keys.result.some((name) => /^[0-9a-f]{64}-/.test(name)))
  }
})`
const HOSTILE = '<img src=x onerror="globalThis.hacked=true"> <script>hacked=true</script> LIMITED'
const REGISTERED = [
  registerRow(),
  registerRow({ company_num: '11', company_name: 'FIRST TWIN LIMITED', eircode: '' }),
  registerRow({ company_num: '12', company_name: 'FIRST TWIN LIMITED', eircode: '' }),
  registerRow({ company_num: '13', company_name: HOSTILE, company_address_1: HOSTILE }),
]

describe('a purchase in the page', () => {
  const used = usePage(() =>
    startTestService({
      prepare: (directory) => writeFile(join(directory, 'register.csv'), toCsv(...REGISTERED)),
      configure: (config) => ({ ...config, dataset: join(config.dataDirectory, 'register.csv') }),
    }),
  )
  const { service, page, open, openBeside, ask, pay, sold, seen, status } = used
  const { click, savedBy, holdRequests, addWallet } = used
  const OPERATIONS: [url: string, shown: RegExp][] = [
    [
      '/?operation=lookup&company_number=73848',
      /PLAIN FIXTURE LIMITED[^]*✕.Dissolved since[^]*73848[^]*, \d+ years?[^]*Is this the right one\?[^]*Print[^]*Watch/,
    ],
    [
      '/?operation=search&q=plain+fixture',
      /1 result for “plain fixture”[^]*Fit[^]*PLAIN FIXTURE LIMITED[^]*FIXTURETOWN[^]*same name/,
    ],
    [
      '/?operation=resolve&name=Plain+Fixture+Ltd',
      /!.This is the company, but note: Dissolved since[^]*PLAIN FIXTURE LIMITED[^]*Dissolved since/,
    ],
    ['/?operation=history&company_number=00000000', /Until[^]*today[^]*SYNTHETIC/],
    ['/?operation=as_of&company_number=00000000&date=2026-11-01', /SYNTHETIC TEST COMPANY LIMITED/],
    [`/?operation=changes&since=${new Date().toISOString().slice(0, 10)}`, /No change is recorded/],
    ['/api/v1/search?q=first+twin&limit=3', /FIRST TWIN LIMITED/],
  ]
  const buysOnce = async (url: string, shown: RegExp) => {
    await open(url)
    expect(await service.transfersOf(() => pay().then(() => sold(shown)))).to.equal(1)
    expect(page.url()).to.equal(service.url + url)
  }
  const isReloaded = (url: string) => /=lookup|^\/api/.test(url)
  for (const [url, shown] of OPERATIONS.filter(([each]) => !isReloaded(each)))
    it(`[4.4.2] buys ${url} with one payment`, () => buysOnce(url, shown))

  for (const [url, shown] of OPERATIONS.filter(([each]) => isReloaded(each)))
    it(`[4.4.2] buys ${url} with one payment, and shows it after a reload with its payment and receipt`, async () => {
      await buysOnce(url, shown)
      expect(await service.transfersOf(() => page.reload().then(() => sold(shown)))).to.equal(0)
      await seen('.payment summary', /^Paid 0.00[12] USDC, receipt valid, /)
      await click('.payment summary')
      const details = await seen('.payment', /✓ payment[^]*Check the receipt again/)
      expect(details).to.contain(service.url).and.contain('on Base Sepolia (test)').and.contain('✓ signature')
      expect(details).to.not.contain('eip155')
      expect(await page.evaluate(`document.querySelector('.payment a')`)).to.equal(null)
    })

  it('shows a refusal that is not charged, and sends nothing for a wrong number', async () => {
    await open()
    expect(
      await service.transfersOf(() =>
        ask('999').then(() =>
          status(
            /^No company has this number. .* Not charged, which is certain after \d\d:\d\d (?:today|on .*)\. Until then the same request sends the same payment, and signs no other\.$/,
          ),
        ),
      ),
    ).to.equal(0)
    await click('#next a')
    await page.waitForFunction(`document.querySelector('#go')?.innerText.startsWith('Search')`)
    expect(page.url()).to.match(/operation=search$/)
    await open('/?operation=history&company_number=x')
    const { length: sent } = page.requests
    await pay()
    expect(await page.evaluate(`document.querySelector('#ask input:invalid').validationMessage`)).to.equal(
      'Company number must be 1 to 20 digits.',
    )
    expect(page.requests).to.have.length(sent)
  })

  it('pays once for a double click and in two tabs', async () => {
    await open(SYNTHETIC)
    const other = await openBeside(SYNTHETIC)
    const paid = await service.transfersOf(async () => {
      await page.evaluate(`for (let turn = 0; turn < 3; turn += 1) document.querySelector('#go').click()`)
      await other.pay()
      await Promise.all([sold(), other.sold()])
    })
    expect(paid).to.equal(1)
  })

  /** Points at which a purchase waits, in order: one before its payment is stored, and two after. */
  const AWAITS: Record<string, (paused: Paused) => boolean> = {
    'the signature arrives': ({ url, isAnswered }) => url.includes('/signature') && isAnswered,
    'the payment is sent': ({ isPaid, isAnswered }) => isPaid && !isAnswered,
    'the answer arrives': ({ isPaid, isAnswered }) => isPaid && isAnswered,
  }

  for (const [point, isHere] of Object.entries(AWAITS)) {
    it(`pays once, and shows the answer, after a reload while ${point}`, async () => {
      await open(SYNTHETIC)
      const paid = await service.transfersOf(async () => {
        let isLeft = false
        const reached = new Promise<void>((resolve) => {
          const hold = (paused: Paused) => (isHere(paused) && !isLeft ? resolve() : void paused.continue())
          void holdRequests(hold).then(() => pay())
        })
        await reached
        isLeft = true
        await page.reload()
        const isStored = (await page.evaluate(STORED)) as boolean
        if (!isStored) await pay()
        await sold(/SYNTHETIC TEST COMPANY LIMITED/)
      })
      expect(paid).to.equal(1)
    })
  }

  it('says with the time when it sends the same payment again, after 503 and a lost connection', async () => {
    await open(SYNTHETIC)
    const sent: string[] = []
    await holdRequests((paused) => {
      if (!paused.isPaid || !paused.isAnswered || sent.push(paused.url) > 2) return void paused.continue()
      const error = JSON.stringify({ error: { code: 'payment_outcome_unknown', message: 'Unknown.' } })
      void paused.fulfill(503, { 'Content-Type': 'application/json', 'Retry-After': '1' }, error)
    })
    const paid = await service.transfersOf(async () => {
      await pay()
      await status(/again at \d\d:\d\d/)
      await sold()
    })
    expect(paid).to.equal(1)
    expect(sent).to.have.length(3)
  })

  it('keeps a file that the command verify accepts, and deletes ended purchases only, after a question', async () => {
    await open(SYNTHETIC)
    await pay()
    await sold()
    await open()
    await seen('#bought', /Paid/)
    const file = join(service.directory, 'purchase.json')
    await writeFile(file, await savedBy('#bought button'))
    expect((await runCommand(['verify', file])).code).to.equal(0)
    await ask('999')
    await status(/Not charged/)
    await open()
    await seen('#bought', /Not charged/)
    const row = (state: string) =>
      `[...document.querySelectorAll('#bought tr')].find((each) => each.innerText.includes('${state}'))`
    expect(await page.evaluate(`${row('Not charged')}.innerText`)).to.not.contain('Delete')
    page.once('dialog', (dialog) => {
      expect(dialog.message()).to.match(
        /^SYNTHETIC TEST COMPANY LIMITED · 00000000 · Company by number\nDelete 1 purchase\?/,
      )
      void dialog.accept()
    })
    const deletePaid = page.locator('#bought tr', { hasText: 'Paid.' }).locator('button').last()
    await Promise.all([page.waitForEvent('load'), deletePaid.click()])
    await seen('#bought', /Not charged/)
    expect(await page.evaluate(`document.querySelector('#bought').innerText`)).to.not.contain('Paid.')
  })

  describe('with a wallet', () => {
    it('pays from its account on the network of the service, and ignores a second announcement of it', async () => {
      let chain = '0x1'
      const choose = () => void (chain = '0x14a34')
      const calls = await addWallet({ eth_chainId: () => chain, wallet_switchEthereumChain: choose })
      await open(SYNTHETIC)
      expect(await page.evaluate(`document.querySelector('#wallet').innerText`)).to.contain('Stub <b>wallet</b>')
      await page.evaluate(`dispatchEvent(new CustomEvent('eip6963:announceProvider', {
        detail: { info: { uuid: 'stub', name: 'Other' }, provider: { request: () => Promise.reject(new Error('other')) } },
      }))`)
      expect(await service.transfersOf(() => pay('stub').then(() => sold()))).to.equal(1)
      expect(calls).to.deep.equal([
        'eth_requestAccounts',
        'eth_chainId',
        'wallet_switchEthereumChain',
        'eth_chainId',
        'eth_call',
        'eth_signTypedData_v4',
      ])
    })

    const CANNOT_STORE = `IDBObjectStore.prototype.put = () => { throw new Error() }`
    const REFUSALS: Record<string, [change: Parameters<typeof addWallet>[0], shown: RegExp, script?: string]> = {
      'its user has not answered': [{ eth_requestAccounts: () => new Refusal(-32002) }, /^The wallet waits/],
      'its user refuses': [{ eth_signTypedData_v4: () => new Refusal(4001) }, /^You refused/],
      'it stays on another network': [{ eth_chainId: () => '0x1' }, /another network. Choose Base Sepolia \(test\)/],
      'it does not know the network': [
        {
          eth_chainId: () => '0x1',
          wallet_switchEthereumChain: () => new Refusal(4902),
          wallet_addEthereumChain: () => new Refusal(4902),
        },
        /does not know the network Base Sepolia/,
      ],
      'its account has no money': [
        { eth_call: () => `0x${'0'.repeat(64)}` },
        /The account 0x\w+…\w+ has 0 USDC on Base Sepolia \(test\): 0.001 USDC are missing. Test USDC is free at/,
      ],
      'it shows no balance': [{ eth_call: () => '0x' }, /has 0 USDC on/],
      'its account is no address': [{ eth_requestAccounts: () => ['0x1'] }, /shows no account/],
      'the browser cannot store': [{}, /cannot keep a payment/, CANNOT_STORE],
    }
    for (const [what, [change, shown, script = '']] of Object.entries(REFUSALS)) {
      it(`pays nothing if ${what}`, async () => {
        await page.addInitScript(script)
        const calls = await addWallet(change)
        await open(SYNTHETIC)
        expect(await service.transfersOf(() => pay('stub').then(() => status(shown)))).to.equal(0)
        expect(await page.evaluate(STORED)).to.equal(false)
        if (!change?.['eth_signTypedData_v4']) expect(calls).to.not.include('eth_signTypedData_v4')
      })
    }

    it('is not waited for after a click, and blocks no other tab', async () => {
      let answerLate: (value: unknown) => void = () => undefined
      const late = new Promise((resolve) => (answerLate = resolve))
      await addWallet({ eth_signTypedData_v4: () => late })
      await open(SYNTHETIC)
      await pay('stub')
      await status(/^Sign in the wallet: 0.001 USDC/)
      const other = await openBeside(SYNTHETIC)
      expect(await service.transfersOf(() => other.pay().then(() => other.sold()))).to.equal(1)
      await click('#next button')
      await status(/Not charged. You can try again now/)
      answerLate(`0x${'1'.repeat(130)}`)
      await page.reload()
      await sold()
    })
  })

  describe('of a malicious service', () => {
    for (const part of ['receiver', 'resource'])
      it(`gets no signature for a quote with another ${part}`, async () => {
        await holdRequests((paused) => {
          const header = paused.responseHeaders.find(({ name }) => name.toUpperCase() === 'PAYMENT-REQUIRED')
          if (!header) return void paused.continue()
          const quote = decodePaymentRequiredHeader(header.value)
          for (const each of quote.accepts) if (part === 'receiver') each.payTo = STRANGER
          if (part === 'resource') quote.resource.url = `${service.url}/api/v1/company/73848`
          const sent = encodePaymentRequiredHeader(quote)
          void paused.fulfill(402, { 'PAYMENT-REQUIRED': sent }, '{}')
        })
        const calls = await addWallet()
        await open(SYNTHETIC)
        await pay('stub')
        await status(/Nothing was signed/)
        expect(calls).to.not.include('eth_signTypedData_v4')
      })

    it('gets one signature for an endless 402', async () => {
      const refusal = JSON.stringify({ error: { code: 'payment_invalid', message: 'No.' } })
      await holdRequests((paused) => void (paused.isPaid ? paused.fulfill(402, {}, refusal) : paused.continue()))
      const calls = await addWallet()
      await open(SYNTHETIC)
      for (let turn = 0; turn < 3; turn += 1) {
        await pay('stub')
        await status(/differs from the quote. Not charged/)
      }
      expect(calls.filter((call) => call === 'eth_signTypedData_v4')).to.have.length(1)
    })

    it('gets no script into the page by a name, an address or an error', async () => {
      await open()
      await ask('13')
      expect(await sold()).to.contain('<script>hacked=true</script>')
      await holdRequests(
        (paused) =>
          void (paused.isAnswered && paused.url.includes('/company/12')
            ? paused.fulfill(404, {}, JSON.stringify({ error: { code: 'x', message: HOSTILE } }))
            : paused.continue()),
      )
      await ask('12')
      await status(/Not charged/)
      expect(
        await page.evaluate(`[globalThis.hacked ?? false, document.querySelectorAll('main img').length]`),
      ).to.deep.equal([false, 0])
    })
  })
})
