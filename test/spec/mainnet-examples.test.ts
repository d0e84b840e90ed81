/** The examples in the documents, the card and the help text of a mainnet deployment, with and without a dataset. */
import { expect } from 'chai'
import { FREE_PATHS } from '../../agent/operation/paths.ts'
import { MAINNET, startFakedService, type FakedService } from '../support/faked-service.ts'
import { send } from '../support/raw-http.ts'
import { requestOverTransports } from '../support/transports.ts'

/** A port that nothing listens on. */
const NO_SOURCE = 'http://127.0.0.1:9/companies.csv'

/** Company numbers in JSON, URLs and form fields. Escaped quotes are those of JSON in JSON. */
const NUMBERS = /(?:company_number\\?"\s*:\s*\\?"|\/api\/v1\/company\/|name="number"[^>]*value=")([0-9]+)/g

/** The number of the made-up company in example answers. */
const MADE_UP = '999999'

async function readEverything(service: FakedService): Promise<Map<string, string>> {
  const { get, a2a } = requestOverTransports(() => service)
  const texts = new Map<string, string>()
  const read = async (name: string, path: string) => texts.set(name, (await get(path)).text)
  for (const path of Object.values(FREE_PATHS)) await read(path, path)
  for (const [path, { text }] of [
    ['the quote of a lookup', await get('/api/v1/company/73848')],
    ['the quote over A2A', await a2a({ operation: 'lookup', input: { company_number: '73848' } })],
  ] as const)
    texts.set(path, text + JSON.stringify(Buffer.from(text, 'base64').toString('latin1')))
  const help = await send({
    url: service.url,
    method: 'POST',
    path: '/a2a',
    headers: { 'Content-Type': 'application/json', 'A2A-Version': '1.0' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'help' }] } },
    }),
  })
  return texts.set('the help text', help.text)
}

/** The numbers in a text, and those in its base64 JSON. */
function numbersIn(text: string): string[] {
  const encoded = [...text.matchAll(/"(eyJ[A-Za-z0-9+/=]{100,})"/g)].map(([, base64 = '']) =>
    Buffer.from(base64, 'base64').toString(),
  )
  return [text, ...encoded].flatMap((each) => [...each.matchAll(NUMBERS)].map(([, number = '']) => number))
}

for (const [state, dataset, example] of [
  ['with a dataset', undefined, '1002'],
  ['without a dataset', NO_SOURCE, undefined],
] as const) {
  describe(`[4.4.13] on mainnet ${state}`, () => {
    let service: FakedService
    let texts: Map<string, string>

    before(async () => {
      service = await startFakedService({ environment: MAINNET, ...(dataset !== undefined && { dataset }) })
      texts = await readEverything(service)
    })
    after(() => service.stop())

    it('nothing names the synthetic company', () => {
      for (const [name, text] of texts) {
        expect(text, name).not.to.match(/(?<![0-9A-Za-z])00000000(?![0-9A-Za-z])|SYNTHETIC TEST COMPANY/)
        expect(numbersIn(text), name).not.to.include('00000000')
      }
    })

    it(`the number in examples of requests is ${example ?? 'absent'}`, () => {
      const paths = [FREE_PATHS.guide, FREE_PATHS.apiGuide, FREE_PATHS.a2aGuide, FREE_PATHS.openApi, 'the help text']
      for (const path of paths) {
        const numbers = new Set(numbersIn(texts.get(path) ?? ''))
        numbers.delete(MADE_UP)
        expect([...numbers], path).to.deep.equal(example === undefined ? [] : [example])
      }
    })

    it('the card names no number', () => {
      const card = texts.get(FREE_PATHS.agentCard) ?? ''
      expect(numbersIn(card)).to.deep.equal([])
      expect(card).not.to.match(/\[\]|\{\}|""/)
    })

    it('the guide begins with a request that gets a quote', async () => {
      const [, target = ''] = /curl -i 'http:\/\/[^/]+([^']+)'/.exec(texts.get(FREE_PATHS.apiGuide) ?? '') ?? []
      expect(target).to.match(example === undefined ? /^\/api\/v1\/search\?/ : new RegExp(`/${example}$`))
      const reply = await send({ url: service.url, path: target })
      expect(reply.status).to.equal(example === undefined ? 503 : 402)
    })
  })
}
