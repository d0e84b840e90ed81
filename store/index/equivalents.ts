/**
 * Equivalent words in company names: abbreviations, and numbers in digits, words and Roman numerals. They make names
 * similar, never equal, because another company may have the abbreviation in its registered name.
 */

const GROUPS = `
  international intl internat, national natl, management mgmt mgt mngmt, brothers bros, company co,
  corporation corp, incorporated inc, group grp gp, holdings hldgs hldg, services svcs srvs servs, service svc srv,
  technology tech, technologies tech techs, technical tech, associates assoc assocs, association assoc assn,
  engineering eng engg, engineers engrs, building bldg, buildings bldgs, saint st, street st, manufacturing mfg,
  manufacturers mfrs, department dept, development dev devt, developments devs devts, construction constr const,
  accounting acctg, accountants accts, consultants consult, consulting consult, distribution distr dist,
  distributors distr dist, electrical elec, enterprises ents ent, equipment equip, european euro,
  environmental env, finance fin, financial fin, general gen, government govt, investments invs invest,
  industries inds ind, industrial ind, ireland irl ire, information info, insurance ins, institute inst,
  logistics log, maintenance maint, marketing mktg, medical med, mechanical mech, mount mt, partners ptnrs,
  partnership ptnrship, pharmaceuticals pharma, pharmaceutical pharma, products prods, production prod,
  productions prods, professional prof, properties props, property prop, public pub, road rd, society soc,
  solutions solns, systems sys, transport trans, university univ, advertising advtg, agricultural agri,
  architects archs, centre center, communications comms, doctor dr, junior jnr jr, senior snr sr,
  laboratories labs, laboratory lab, number no, northern nthn, southern sthn, and n, 1 one, 2 two ii, 3 three iii,
  4 four iv, 5 five, 6 six vi, 7 seven vii, 8 eight viii, 9 nine ix, 10 ten, 11 eleven xi, 12 twelve xii,
  13 thirteen xiii, 20 twenty, 24 twentyfour, 50 fifty, 100 hundred,
  1st first, 2nd second, 3rd third, 4th fourth, 5th fifth, 6th sixth, 7th seventh, 8th eighth, 9th ninth, 10th tenth,
  11th eleventh, 12th twelfth, 20th twentieth, 21st twentyfirst
`

const EQUIVALENTS = new Map<string, Set<string>>()
for (const group of GROUPS.split(',')) {
  const words = group.trim().split(' ')
  for (const word of words) {
    const known = EQUIVALENTS.get(word) ?? new Set()
    for (const other of words) if (other !== word) known.add(other)
    EQUIVALENTS.set(word, known)
  }
}

export const ABBREVIATED_WORDS: readonly string[] = [...EQUIVALENTS.keys()]

const NONE: ReadonlySet<string> = new Set()

export function equivalentsOf(word: string): ReadonlySet<string> {
  return EQUIVALENTS.get(word) ?? NONE
}
